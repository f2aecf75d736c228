/**
 * Tests a service at the start (probe.ts), on a temporary model, again if that is lost meanwhile. Anything
 * unsupported is an error if it was requested, and reported if it is a default.
 */
import { MillraceError, messageOf } from '../../base/index.ts';
import { StateLost } from './client.ts';
import type { Reduction } from './passes.ts';
import { type Found, probe } from './probe.ts';
import type { ModelSpec, TinkerService } from './service.ts';

/** How often it restarts after a loss. */
const LOSSES_MAX = 5;

/** On a temporary model; again if it is lost meanwhile. */
export async function tryOut(
  service: TinkerService,
  spec: ModelSpec,
  wanted: { readonly reduction: Reduction | null; readonly clips: boolean },
): Promise<Found> {
  for (let losses = 1; ; losses++) {
    const model = await service.create(spec);
    try {
      const found = await probe(model, wanted);
      tell(service, found, wanted.clips);
      return found;
    } catch (error) {
      if (error instanceof MillraceError) throw error;
      if (!(error instanceof StateLost) || losses > LOSSES_MAX) {
        throw new MillraceError(
          'TRAINER_REFUSED',
          `the training service ${service.url} failed its trial: ${messageOf(error)}`,
          { cause: error },
        );
      }
      service.print(`training service ${service.url}: ${error.message}; trying again`);
    } finally {
      await model.unload().catch(() => undefined);
    }
  }
}

/** Anything unsupported is an error if it was requested, and reported if it is a default. */
function tell(service: TinkerService, { adam, clips }: Found, clipping: boolean): void {
  if (clipping && clips !== true) {
    throw new MillraceError(
      'TRAINER_SETTING',
      `the training service ${service.url} does not clip gradients to the requested norm: set trainer.gradClipNorm to 0 (AdamW's steps hardly depend on the gradient's size)`,
    );
  }
  if (!adam) {
    service.print(
      `training service ${service.url} accepts only the learning rate: betas, epsilon, weight decay and clipping stay as they were when it started`,
    );
  }
}
