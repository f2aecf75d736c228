/** Checks at the start, not at the first publish, that the trainer writes what the servers load. */
import { MillraceError } from '../../base/index.ts';
import type { EngineSettings } from './engines.ts';
import type { TrainerSettings } from './trainers.ts';

/** Fails with code `USAGE` if servers should get adapters but the trainer writes whole policies. */
export function checkPublished(trainer: TrainerSettings, engine: EngineSettings): void {
  if (engine.server === 'embedded' || engine.publish !== 'adapter') return;
  const { kind, rank, adapterRank, adapterAs } = trainer;
  const writes = kind === 'tinker' ? rank > 0 : adapterRank > 0 && adapterAs === 'adapter';
  if (writes) return;
  const set =
    kind === 'tinker' ? 'trainer.rank=16' : 'trainer.adapterRank=16 and trainer.adapterAs=adapter';
  throw new MillraceError(
    'USAGE',
    `engine.publish=adapter needs a trainer that writes adapters: set ${set}, or engine.publish=full`,
  );
}
