import { describe, expect, test } from '@jest/globals';
import { judgedBenchmark } from '../../../operators/metrics/graders/benchmark.ts';
import { graderOf } from '../../../operators/metrics/graders/graderOf.ts';
import { type AskModel, type JuryRequest, jury } from '../../../operators/metrics/graders/jury.ts';
import { paperTools } from '../../support/paperTools.ts';
import { question } from '../../support/records.ts';

const asked = question({ id: 'q', question: 'How long?', answers: ['two hours', '2 h'] });

/** A model that replies by rule, and what it was asked. */
function model(reply: (request: JuryRequest) => string | null) {
  const requests: JuryRequest[] = [];
  const ask: AskModel = async (request) => {
    requests.push(request);
    return reply(request);
  };
  return { ask, requests };
}

function seated(judge: AskModel, critic?: AskModel, votes?: number) {
  const sleeps: number[] = [];
  const sit = jury({
    seed: 7,
    judge,
    ...(critic === undefined ? {} : { critic }),
    ...(votes === undefined ? {} : { votes }),
    sleep: async (ms) => void sleeps.push(ms),
  });
  const sample = (prediction: string, output = prediction) =>
    sit(asked, {
      ability: 'math',
      output,
      prediction,
      references: asked.answers,
      tools: paperTools,
    });
  return { sample, sleeps };
}

describe('a judge', () => {
  test('sees question, references and answer, and decides', async () => {
    const { ask, requests } = model(({ prompt }) =>
      prompt.includes('120 minutes') ? '<judgment>Correct</judgment>' : 'It is incorrect.',
    );
    const { sample } = seated(ask);
    expect(await sample('120 minutes')).toEqual({ judged: 1, judgeFailed: 0 });
    expect(await sample('3 h')).toEqual({ judged: 0, judgeFailed: 0 });
    for (const part of ['How long?', 'two hours', '2 h', '120 minutes']) {
      expect(requests[0]!.prompt).toContain(part);
    }
    expect(requests[0]!.draws).toEqual([7, 'q', 'judge', 0]);
  });

  test('in xbench’s form is asked about all but the reference’s own text', async () => {
    const { ask, requests } = model(() => '结论: 错误');
    const sit = jury({
      seed: 7,
      judge: ask,
      grader: () => graderOf('authors', 'xbench'),
      sleep: async () => undefined,
    });
    const sample = { ability: 'qa', references: asked.answers, tools: paperTools } as const;
    const said = async (prediction: string) =>
      (await sit(asked, { ...sample, output: prediction, prediction })).judged;
    expect(await said(' two hours ')).toBe(1);
    expect(requests).toEqual([]);
    expect(await said('2h')).toBe(0);
    expect(requests).toHaveLength(1);
  });

  test('is not asked what equality has settled, nor about an empty answer', async () => {
    const { ask, requests } = model(() => 'Incorrect');
    const { sample } = seated(ask);
    expect(await sample('2h')).toEqual({ judged: 1, judgeFailed: 0 });
    expect(await sample('', '')).toEqual({ judged: 0, judgeFailed: 0 });
    expect(requests).toEqual([]);
  });

  test('sees the last lines if no answer was found', async () => {
    const { ask, requests } = model(() => 'Correct');
    await seated(ask).sample('', 'a\nb\nc\nd\ne\nf');
    expect(requests[0]!.prompt).toContain('b\nc\nd\ne\nf');
    expect(requests[0]!.prompt).not.toContain('a\nb');
  });

  test('is asked three times, and counts as a failure if undecided', async () => {
    const silent = model(() => null);
    const { sample, sleeps } = seated(silent.ask);
    expect(await sample('x')).toEqual({ judged: 0, judgeFailed: 1 });
    expect(silent.requests.map(({ draws }) => draws.at(-1))).toEqual([0, 1, 2]);
    expect(sleeps).toEqual([1000, 2000]);
    let calls = 0;
    const late = model(() => (++calls < 3 ? null : 'Correct'));
    expect(await seated(late.ask).sample('x')).toEqual({ judged: 1, judgeFailed: 0 });
  });
});

describe('a critic', () => {
  const judge: AskModel = async () => 'Incorrect';
  const called = 'x<search>a</search><result>b</result>';

  test('votes ten times, each with draws of its own; a tie is concise', async () => {
    const halves = model(({ draws }) =>
      Number(draws[3]) % 2 === 0 ? '<answer>yes</answer>' : '<answer>No.</answer>',
    );
    expect(await seated(judge, halves.ask).sample('x', called)).toMatchObject({ concise: 1 });
    expect(new Set(halves.requests.map(({ draws }) => draws.join('/'))).size).toBe(10);
    expect(halves.requests[0]!.stop).toEqual(['</answer>']);
    const most = model(({ draws }) => (Number(draws[3]) < 2 ? 'no' : 'Yes'));
    expect(await seated(judge, most.ask, 3).sample('x', called)).toMatchObject({ concise: 1 });
    expect(await seated(judge, most.ask, 5).sample('x', called)).toMatchObject({ concise: 0 });
  });

  test('is not asked about a response without calls', async () => {
    const { ask, requests } = model(() => 'yes');
    expect(await seated(judge, ask).sample('x')).toMatchObject({ concise: 1 });
    expect(requests).toEqual([]);
  });

  test('that says nothing gives no part', async () => {
    const { ask } = model(() => null);
    expect(await seated(judge, ask, 2).sample('x', called)).toEqual({ judged: 0, judgeFailed: 0 });
  });
});

describe('a judged evaluation', () => {
  test('has the verdict as a part and, for mathematics, as its score', async () => {
    const { ask } = model(() => 'Correct');
    const reward = judgedBenchmark(jury({ seed: 1, judge: ask, sleep: async () => undefined }));
    const texts = ['<answer>\\boxed{120 min}</answer>', ''];
    const [right, nothing] = await reward({
      question: asked,
      tools: paperTools,
      texts,
      lengths: [5, 0],
    });
    expect(right).toMatchObject({ score: 1, parts: { judged: 1, judgeFailed: 0, mathEqual: 0 } });
    expect(nothing).toMatchObject({ score: 0, parts: { judged: 0, valid: 0 } });
  });
});
