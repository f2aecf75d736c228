import { describe, expect, test } from '@jest/globals';
import { Subject } from 'rxjs';
import { HeldEngine } from '../../../jobs/replay/heldEngine.ts';
import { RecordedVersions } from '../../../jobs/replay/recordedVersions.ts';
import type { GenerateRequest } from '../../../model/engine.ts';
import { scriptedPolicy } from '../../../testing/scriptedPolicy.ts';
import type { Segment, Weights } from '../../../topics/index.ts';
import { question, rollout } from '../../support/records.ts';
import { tinyWords } from '../../support/tinyWords.ts';
import { weights } from '../../support/weights.ts';

const asked = question({ id: 'q', phase: 'explore', round: 1, schedule: null });
const part = (start: number, end: number, version: number): Segment => ({
  kind: 'policy',
  start,
  end,
  version,
  entropy: null,
  tool: null,
});
const PROMPT = tinyWords.encode('What is 1 + 2 ?');

function request(index: number, made: readonly number[] = []): GenerateRequest {
  return {
    tokens: Int32Array.from([...PROMPT, ...made]),
    maxTokens: 50,
    temperature: 1,
    stopTokens: [tinyWords.endToken],
    topLogProbs: 0,
    draws: [7, 'q', 'explore', 1, index],
  };
}

/** An engine that says one word a draw; each version says other words. */
function held(
  rollouts: readonly { readonly segments: readonly Segment[]; readonly over?: object }[],
) {
  const versions = new RecordedVersions();
  for (const [index, { segments, over }] of rollouts.entries()) {
    const id = `q/explore-1/${index}`;
    versions.add(rollout({ id, question: asked, index, prompt: PROMPT, segments, ...over }));
  }
  const live = scriptedPolicy({
    tokenizer: tinyWords,
    script: ({ version, request: { maxTokens } }) => {
      const word = ['one', 'two', 'three'][version % 3]!;
      return `${Array.from({ length: Math.min(maxTokens, 4) }, () => word).join(' ')}<|end|>`;
    },
  });
  const manifests = new Subject<{ readonly value: Weights }>();
  const engine = new HeldEngine(live, {
    versions,
    weights$: manifests,
    resolve: ({ version }) => ({ version, uri: `/w${version}`, digest: null }),
  });
  const publish = (version: number): void => manifests.next({ value: weights(version, 0) });
  return { engine, live, publish };
}

const settled = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
};

describe('an engine of a replay', () => {
  test('makes each generation by its recorded version, whatever was loaded', async () => {
    const { engine, live, publish } = held([
      { segments: [part(0, 9, 2)] },
      { segments: [part(0, 9, 0)] },
    ]);
    for (const version of [0, 1, 2]) publish(version);
    await engine.load({ version: 1, uri: '', digest: null });
    const made = await Promise.all([engine.generate(request(0)), engine.generate(request(1))]);
    expect(made.map(({ version }) => version)).toEqual([2, 0]);
    expect(live.loads.map(({ version }) => version)).toEqual([2, 0]);
  });

  test('waits for a version that is not there yet, and lets others go first', async () => {
    const { engine, publish } = held([
      { segments: [part(0, 9, 1)] },
      { segments: [part(0, 9, 0)] },
    ]);
    publish(0);
    const order: number[] = [];
    const late = engine.generate(request(0)).then(({ version }) => order.push(version));
    const early = engine.generate(request(1)).then(({ version }) => order.push(version));
    await early;
    await settled();
    expect(order).toEqual([0]);
    publish(1);
    await late;
    expect(order).toEqual([0, 1]);
  });

  test('makes a generation of several versions span by span', async () => {
    const { engine, publish } = held([{ segments: [part(0, 2, 0), part(2, 9, 1)] }]);
    publish(0);
    publish(1);
    const { tokens, spans, version, logProbs } = await engine.generate(request(0));
    expect(version).toBe(0);
    expect(spans!.map((span) => [span.start, span.version])).toEqual([
      [0, 0],
      [2, 1],
    ]);
    expect(spans!.at(-1)!.end).toBe(tokens.length);
    expect(logProbs).toHaveLength(tokens.length);
    expect(tinyWords.decode(tokens)).toMatch(/^one .*two/);
  });

  test('finds a stop text that one version began and the next one completed', async () => {
    const { engine, publish } = held([{ segments: [part(0, 2, 0), part(2, 3, 1)] }]);
    publish(0);
    publish(1);
    const made = await engine.generate({ ...request(0), stopTexts: ['onetwo'] });
    expect(made).toMatchObject({ finish: 'stop', stopText: 'onetwo' });
    expect(tinyWords.decode(made.tokens)).toBe('one one two');
  });

  test('fails where the generation failed before, with the same reason', async () => {
    const over = { status: 'failed', finish: 'failed', reason: 'the engine was ill' };
    const { engine, publish } = held([{ segments: [], over }]);
    publish(0);
    await expect(engine.generate(request(0))).rejects.toThrow('the engine was ill');
  });

  test('makes a generation that was not recorded by the version last loaded', async () => {
    const { engine, publish } = held([]);
    publish(0);
    publish(1);
    await engine.load({ version: 1, uri: '', digest: null });
    expect((await engine.generate(request(0))).version).toBe(1);
  });

  test('gives up waiting when it is aborted', async () => {
    const { engine } = held([{ segments: [part(0, 9, 5)] }]);
    const abort = new AbortController();
    const waiting = engine.generate(request(0), abort.signal);
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });

  test('passes on that weights cannot be loaded', async () => {
    const { engine, live, publish } = held([{ segments: [part(0, 9, 0)] }]);
    live.load = async () => {
      throw new Error('the file is gone');
    };
    publish(0);
    await expect(engine.generate(request(0))).rejects.toThrow('the file is gone');
  });
});
