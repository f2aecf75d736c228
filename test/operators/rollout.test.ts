import { describe, expect, test } from '@jest/globals';
import { concat, from, lastValueFrom, NEVER, of, toArray } from 'rxjs';
import { MillraceError } from '../../base/errors.ts';
import type { PolicyGate } from '../../operators/gate.ts';
import { rollout } from '../../operators/rollout.ts';
import { toolBroken, toolDown } from '../../operators/tools/tool.ts';
import { fakeReader, runOperator } from '../../testing/runOperator.ts';
import { type ScriptLine, shuffledTurns } from '../../testing/scriptedPolicy.ts';
import { topics } from '../../topics/index.ts';
import { obeysOperatorLaws } from '../support/laws.ts';
import { question } from '../support/records.ts';
import { openGate, rolloutOptions } from '../support/rolloutOptions.ts';

const script = ({ context }: ScriptLine): string =>
  context.includes('</result>')
    ? '<think>So</think><answer>\\boxed{2}</answer><|end|>'
    : '<search>one</search>';
const questions = ['q1', 'q2', 'q3'].map((id) => question({ id }));
const sample = { topic: topics.questions, values: questions };

obeysOperatorLaws('rollout', () => rollout(rolloutOptions(script)), sample);

describe('rollout', () => {
  test('turns a question into n rollouts and its tool calls, in one commit', async () => {
    const run = await runOperator(
      rollout(rolloutOptions(script, { concurrency: 1 })),
      topics.questions,
      questions,
    );
    expect(run.outputs.map(({ id }) => id)).toEqual([
      ...['q1/explore-0/0', 'q1/explore-0/1', 'q2/explore-0/0'],
      ...['q2/explore-0/1', 'q3/explore-0/0', 'q3/explore-0/1'],
    ]);
    expect(run.commits.map(({ settled }) => settled)).toEqual([[0], [1], [2]]);
    const calls = run.commits[1]!.writes.filter(({ topic }) => topic === 'tool-calls');
    expect(calls.map(({ value }) => (value as { rolloutId: string }).rolloutId)).toEqual([
      'q2/explore-0/0',
      'q2/explore-0/1',
    ]);
  });

  test('writes failed rollouts too, and no dead letter', async () => {
    const broken = rolloutOptions(() => {
      throw new Error('the engine is ill');
    });
    const run = await runOperator(rollout(broken), topics.questions, questions);
    expect(run.outputs.map(({ status }) => status)).toEqual(Array(6).fill('failed'));
    expect(run.sideRecords).toEqual({});
  });

  test('reports the first failed rollout, the tenth, the hundredth', async () => {
    const told: string[] = [];
    const script = () => {
      throw new Error('the engine\n is ill');
    };
    const broken = rolloutOptions(script, { concurrency: 1, report: (line) => told.push(line) });
    const many = Array.from({ length: 8 }, (_, i) => question({ id: `q${i}` }));
    await runOperator(rollout(broken), topics.questions, many);
    expect(told).toEqual([
      'rollout q0/explore-0/0 failed: the engine is ill (1 of 2 rollouts so far in this process; the rollouts topic has the reason of each)',
      'rollouts are failing, most recently q4/explore-0/1: the engine is ill (10 of 10 rollouts so far in this process; the rollouts topic has the reason of each)',
    ]);
  });

  test('fails rollouts if a tool is down, and ends at once if it is broken', async () => {
    const calling = (error: Error) => {
      const call = () => Promise.reject(error);
      const tools = { tags: ['search'], call, close: async () => undefined };
      return runOperator(rollout(rolloutOptions(script, { tools })), topics.questions, questions);
    };
    const { outputs } = await calling(toolDown('search', 'nobody is there'));
    expect(outputs.map(({ status }) => status)).toEqual(Array(6).fill('failed'));
    await expect(calling(toolBroken('search', 'it is not installed.'))).rejects.toThrow(
      /search does not work here: it is not installed\. Start the run again/,
    );
  });

  test('passes each question through the gate and releases it, even if it is cut off', async () => {
    let inside = 0;
    let most = 0;
    const counting: PolicyGate = {
      ...openGate,
      withFirstVersion: (asked) => asked,
      admission: (concurrency) => {
        const { admit } = openGate.admission(concurrency);
        return {
          admit: async (...asked) => {
            const release = await admit(...asked);
            most = Math.max(most, ++inside);
            return () => {
              inside--;
              release();
            };
          },
        };
      },
    };
    const options = rolloutOptions(script, {
      gate: counting,
      concurrency: 2,
      policy: { delay: shuffledTurns(1) },
    });
    await runOperator(rollout(options), topics.questions, questions);
    expect([inside, most]).toEqual([0, 2]);
    const reader = fakeReader(topics.questions);
    const cut = concat(of(reader.deliver(questions[0]!)), NEVER)
      .pipe(rollout(options))
      .subscribe();
    await shuffledTurns(2, 1)();
    cut.unsubscribe();
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    expect([inside, reader.unsettled()]).toEqual([0, 1]);
  });

  test('ends with the error of a failed gate, and loses no question to a dead letter', async () => {
    const gate: PolicyGate = {
      ...openGate,
      withFirstVersion: (asked) => asked,
      admission: () => ({ admit: () => Promise.reject(new Error('the digest differs')) }),
    };
    const run = runOperator(rollout(rolloutOptions(script, { gate })), topics.questions, questions);
    await expect(run).rejects.toThrow('the digest differs');
  });

  test('leaves a question unsettled when the run is stopping', async () => {
    const gate: PolicyGate = {
      ...openGate,
      withFirstVersion: (asked) => asked,
      admission: () => ({
        admit: () => Promise.reject(new MillraceError('NOT_NOW', 'the run is stopping')),
      }),
    };
    const reader = fakeReader(topics.questions);
    const source$ = from(questions.map((value) => reader.deliver(value)));
    const out = source$.pipe(rollout(rolloutOptions(script, { gate })), toArray());
    expect(await lastValueFrom(out)).toEqual([]);
    expect(reader.unsettled()).toBe(3);
    expect(reader.owner.waiting.total).toBe(3);
  });
});
