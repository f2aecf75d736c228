/**
 * Any RxJS operator, applied to one record at a time.
 *
 * Each record gets an Observable of its own, `of(value).pipe(op)`. Whatever that emits until it completes is
 * committed together with the record; nothing = the record is dropped; an error = its dead letter. So
 * `filter`, `mergeMap`, `delay`, `retry`, `timeout`, `switchMap` and so on may be used as they are, and none
 * of them can lose a record.
 *
 * An operator with memory (`scan`, `distinct`, `take`) remembers one record only. An operator that never
 * completes keeps its record in flight: the stage's `oldestMs` shows it, and `timeout` or `takeUntil` within
 * `op` bounds it.
 */
import { type Observable, type OperatorFunction, of, Subscriber } from 'rxjs';
import { MillraceError } from '../../base/index.ts';
import { calling, Later } from './calls.ts';
import type { Delivery } from './delivery.ts';
import type { EachOptions, Scope } from './scope.ts';

/** An RxJS operator; it may take the record's `Scope`, for side records and to learn that it should stop. */
export type EachOperator<In, Out> = (value$: Observable<In>, scope: Scope) => Observable<Out>;

/** Bounds of `pipeEach`: concurrent records, and outputs of each. */
export interface PipeOptions extends EachOptions {
  /** Most outputs of one record; one more is that record's error, with code `OUTPUTS`. 1,000 by default. */
  readonly outputsMax?: number;
}

const OUTPUTS_MAX = 1000;

/**
 * One in, any number out, committed together, by an RxJS operator.
 *
 *     pipeEach(pipe(filter(isHard), mergeMap(askServer), retry(2), timeout(60_000)), { concurrency: 8 })
 */
export function pipeEach<In, Out>(
  op: EachOperator<In, Out>,
  options: PipeOptions,
): OperatorFunction<Delivery<In>, Delivery<Out>> {
  const outputsMax = options.outputsMax ?? OUTPUTS_MAX;
  const outputsOf = (value: In, scope: Scope) => collect(op(of(value), scope), scope, outputsMax);
  return calling(outputsOf, options, (delivery, outputs) => delivery.split(outputs));
}

/** Everything it emits, at once if it completes at once. */
function collect<Out>(
  outputs$: Observable<Out>,
  scope: Scope,
  outputsMax: number,
): readonly Out[] | Later<readonly Out[]> {
  const outputs: Out[] = [];
  let end: { readonly error?: unknown } | null = null;
  let ended = (): void => undefined;
  const finish = (how: { readonly error?: unknown }): void => {
    end = how;
    subscriber.unsubscribe();
    ended();
  };
  const subscriber = new Subscriber<Out>({
    next(value) {
      if (outputs.length < outputsMax) outputs.push(value);
      else finish({ error: tooMany(outputsMax) });
    },
    error: (error: unknown) => finish({ error }),
    complete: () => finish({}),
  });
  outputs$.subscribe(subscriber);
  const how = end as { readonly error?: unknown } | null;
  if (how !== null) {
    if ('error' in how) throw how.error;
    return outputs;
  }
  scope.signal.addEventListener('abort', () => subscriber.unsubscribe());
  return new Later((done, failed) => {
    ended = () => {
      if (end !== null && 'error' in end) failed(end.error);
      else done(outputs);
    };
  });
}

function tooMany(outputsMax: number): MillraceError {
  return new MillraceError(
    'OUTPUTS',
    `the operator emitted more than ${outputsMax} outputs for one record; end it (take) or raise outputsMax`,
    { context: { outputsMax } },
  );
}
