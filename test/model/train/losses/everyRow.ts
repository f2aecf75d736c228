/** A loss of this package under which every sequence may have a gradient, so that nothing is skipped. */
import { type LossName, losses } from '../../../../model/losses/losses.ts';

interface Settings {
  readonly of: LossName;
  readonly settings: unknown;
}

export default {
  prepare: ({ of, settings }: Settings) => ({
    ...losses[of].prepare(settings),
    learns: () => true,
  }),
};
