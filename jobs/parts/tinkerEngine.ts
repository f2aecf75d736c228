/** `engine.server=tinker`: samples on the training service that trains (docs/tinker.md). */
import { MillraceError } from '../../base/index.ts';
import { tokenBytes } from '../../model/rollout/index.ts';
import { TinkerTrainer } from '../../model/tinker/index.ts';
import type { EngineKind } from './places.ts';

const settings = {};

/** An engine on the trainer's service. Fails with code `USAGE` if the trainer is another kind. */
export const tinkerEngine: EngineKind<typeof settings> = {
  settings,
  async open(_, { trainer, tokenizer, contextMax }) {
    if (trainer instanceof TinkerTrainer) {
      return trainer.sampler({ contextMax, tokenBytes: tokenBytes(tokenizer) });
    }
    throw new MillraceError(
      'USAGE',
      'engine.server=tinker samples on the training service: set trainer.kind=tinker and trainer.publish=state',
    );
  },
};
