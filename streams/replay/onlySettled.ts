/**
 * A flow that processes only what another run had finished: a record is processed where the stage's group had
 * settled it, and dropped if that run had not come so far (or was stopped, or killed).
 *
 * It identifies records by their offsets, so the topics must hold the same records at the same places.
 */
import { concatMap, type OperatorFunction } from 'rxjs';
import type { Delivery } from '../deliveries/delivery.ts';
import type { Flow } from '../flow.ts';
import type { Standing } from '../log.ts';
import { Progress } from '../progress.ts';
import type { Stage } from '../stage.ts';

export function onlySettled(flow: Flow, { settled }: Standing): Flow {
  const stages = flow.stages.map((stage): Stage => {
    const progress = new Progress(settled[stage.from.name]?.[stage.name]);
    const pass = passing(progress);
    return { ...stage, run: (deliveries$) => deliveries$.pipe(pass, stage.run) };
  });
  return { ...flow, stages };
}

function passing(progress: Progress): OperatorFunction<Delivery<unknown>, Delivery<unknown>> {
  return concatMap((delivery) => {
    if (progress.has(delivery.position.offset)) return [delivery];
    delivery.drop();
    return [];
  });
}
