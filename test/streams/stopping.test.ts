import { describe, expect, test } from '@jest/globals';
import { lastValueFrom, map, pipe, toArray } from 'rxjs';
import { neverStopping, unlessStopping } from '../../streams/deliveries/stopping.ts';
import { flow } from '../../streams/flow.ts';
import type { Log } from '../../streams/log.ts';
import { expandEach, gatherBy, keepIf, mapEach, type Scope } from '../../streams/primitives.ts';
import { type FlowEnd, runFlow } from '../../streams/run/runFlow.ts';
import { type Run, source, stage } from '../../streams/stage.ts';
import { type Metric, type Question, topics } from '../../topics/index.ts';
import { freshLog } from '../support/freshLog.ts';
import { metric, question } from '../support/records.ts';
import { until } from '../support/until.ts';

const GRACE_MS = 3_600_000;

let log: Log;
freshLog((opened) => {
  log = opened;
});

const questions = ['a', 'b', 'c'].map((id) => ({ value: question({ id }) }));

/** Runs the operator in a stage until it is stopped, or to its end. */
function run(operator: Run<Question, Metric>, signal?: AbortSignal): Promise<FlowEnd> {
  const parts = flow(
    source('rows', topics.questions, questions),
    stage('work', topics.questions, topics.metrics, operator),
  );
  return runFlow(parts, { log, graceMs: GRACE_MS, ...(signal === undefined ? {} : { signal }) });
}

const written = async (): Promise<readonly string[]> => {
  const stored$ = log.tap(topics.metrics, { from: { kind: 'earliest' }, follow: false });
  return lastValueFrom(
    stored$.pipe(
      map(({ value }) => value.name),
      toArray(),
    ),
  );
};

const isWritten = (name: string): Promise<true> =>
  until(async () => (await written()).includes(name));

const named = ({ id }: Question): Metric => metric({ name: id });
/** Waits for what never comes. */
const forever = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

describe('a run that stops', () => {
  test('signals the functions of its stages, which may leave their records for the next start', async () => {
    const stop = new AbortController();
    const waiting = async (asked: Question, scope: Scope): Promise<Metric> => {
      if (asked.id === 'a') return named(asked);
      if (asked.id === 'c') void isWritten('a').then(() => stop.abort());
      return unlessStopping(scope, 'its turn', forever);
    };
    expect(await run(mapEach(waiting, { concurrency: 3 }), stop.signal)).toBe('stopped');
    expect(await written()).toEqual(['a']);
    expect(await run(mapEach(named, { concurrency: 1 }))).toBe('quiescent');
    expect(await written()).toEqual(['a', 'b', 'c']);
  });

  test('lets a function finish, whose result still counts', async () => {
    const stop = new AbortController();
    const seen: boolean[] = [];
    const finishing = async (asked: Question, { signal, stopping }: Scope): Promise<Metric> => {
      stop.abort();
      await until(() => stopping.aborted);
      seen.push(stopping.aborted, signal.aborted);
      return named(asked);
    };
    expect(await run(mapEach(finishing, { concurrency: 1 }), stop.signal)).toBe('stopped');
    expect(seen.slice(0, 2)).toEqual([true, false]);
    expect(await written()).toContain('a');
  });

  test('signals functions of gathered records too', async () => {
    const stop = new AbortController();
    const seen: AbortSignal[] = [];
    const look =
      <T, Out>(result: (value: T) => Out) =>
      (value: T, { stopping }: Scope): Out => {
        seen.push(stopping);
        return result(value);
      };
    const operator = pipe(
      keepIf<Question>(look(() => true)),
      expandEach(
        look((asked: Question) => [asked]),
        { concurrency: 1 },
      ),
      gatherBy<Question>({ key: () => 'all', size: 3, openMax: 1 }),
      mapEach(
        look((all: readonly Question[]) => named(all[0]!)),
        { concurrency: 1 },
      ),
    );
    await run(operator, stop.signal);
    expect(new Set(seen)).toEqual(new Set([stop.signal]));
    expect(seen).toHaveLength(7);
  });
});

describe('unlessStopping', () => {
  test('gives the result, or the error of the wait itself', async () => {
    const signals = { signal: neverStopping, stopping: neverStopping };
    expect(await unlessStopping(signals, 'it', async () => 7)).toBe(7);
    const broken = unlessStopping(signals, 'it', async () => {
      throw new Error('no such file');
    });
    await expect(broken).rejects.toThrow('no such file');
  });

  test.each(['signal', 'stopping'] as const)(
    'fails with NOT_NOW when `%s` aborts',
    async (which) => {
      const end = new AbortController();
      const signals = { signal: neverStopping, stopping: neverStopping, [which]: end.signal };
      const waiting = unlessStopping(signals, 'step 3', forever);
      end.abort();
      await expect(waiting).rejects.toMatchObject({
        code: 'NOT_NOW',
        message: 'the run is stopping before step 3',
      });
    },
  );
});
