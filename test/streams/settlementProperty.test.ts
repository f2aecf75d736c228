import { expect, test } from '@jest/globals';
import { pipe } from 'rxjs';
import { draws } from '../../base/draws.ts';
import { expandEach, gatherBy, keepIf, mapEach } from '../../streams/primitives.ts';
import { runOperator } from '../../testing/runOperator.ts';
import { type Metric, topics } from '../../topics/index.ts';
import { metric } from '../support/records.ts';

const RECORDS = 60;

/** A random chain of splits, gathers, drops, throws and delays. */
function randomChain(seed: number) {
  const random = draws('settlement', seed);
  const pick = (of: string, m: Metric, below: number): number =>
    random.under(of, m.name).integer(0, below);
  const gather = (of: string) =>
    gatherBy<Metric>({
      key: (m) => String(pick(of, m, 6)),
      size: (first) => 1 + pick(`${of}/size`, first, 4),
      openMax: 6,
      atEnd: random.under(of).integer(1, 2) === 0 ? 'emit' : 'deadLetter',
    });
  const merged = mapEach(
    (group: readonly Metric[]) => metric({ name: group.map(({ name }) => name).join('+') }),
    { concurrency: 1 },
  );
  return pipe(
    keepIf((m: Metric) => pick('keep', m, 5) > 0),
    expandEach(
      async (m: Metric, scope) => {
        for (let turn = pick('turns', m, 4); turn > 0; turn--) await Promise.resolve();
        scope.also(topics.toolCalls, call(m.name));
        if (pick('throw', m, 6) === 0) throw new Error('unlucky');
        return Array.from({ length: pick('parts', m, 4) }, (_, i) =>
          metric({ name: `${m.name}.${i}` }),
        );
      },
      { concurrency: 1 + random.integer(1, 8) },
    ),
    gather('first'),
    merged,
    expandEach((m: Metric) => [m, metric({ name: `${m.name}!` })], { concurrency: 2 }),
    gather('second'),
    merged,
  );
}

function call(rolloutId: string) {
  return {
    rolloutId,
    questionId: '',
    turn: 0,
    tool: '',
    input: '',
    output: '',
    ok: true,
    attempts: 1,
    cached: false,
    ms: 0,
  };
}

test('every input settles exactly once, whatever is dropped, split, gathered and thrown', async () => {
  for (let seed = 0; seed < 40; seed++) {
    const values = Array.from({ length: RECORDS }, (_, i) => metric({ name: `r${i}` }));
    const run = await runOperator(randomChain(seed), topics.metrics, values);
    const settled = run.commits.flatMap((commit) => commit.settled).sort((a, b) => a - b);
    expect({ seed, settled }).toEqual({ seed, settled: values.map((_, i) => i) });
    // Every record that got past the first filter wrote its one call, in whichever commit.
    const calls = (run.sideRecords['tool-calls'] ?? []).map(
      (c) => (c as { rolloutId: string }).rolloutId,
    );
    expect(new Set(calls).size).toBe(calls.length);
  }
});
