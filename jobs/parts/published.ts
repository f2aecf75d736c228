/** Whether the trainer writes what the servers are to load: found at the start, not at the first publish. */
import { MillraceError } from '../../base/index.ts';
import type { EngineSettings } from './engines.ts';
import type { TrainerSettings } from './trainers.ts';

/**
 * Fails with code `USAGE` if servers should get adapters but the trainer in this process writes whole
 * policies.
 */
export function checkPublished(trainer: TrainerSettings, engine: EngineSettings): void {
  if (trainer.kind !== 'embedded' || engine.server === 'embedded') return;
  if (engine.publish !== 'adapter') return;
  if (trainer.adapterRank > 0 && trainer.adapterAs === 'adapter') return;
  throw new MillraceError(
    'USAGE',
    'engine.publish=adapter needs a trainer that writes adapters: set trainer.adapterRank=16 and trainer.adapterAs=adapter, or engine.publish=full',
  );
}
