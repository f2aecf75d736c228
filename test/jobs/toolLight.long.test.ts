import { describe, expect, test } from '@jest/globals';
import type { ToolLightSettings } from '../../jobs/toolLight.ts';
import { freshFolders } from '../support/folder.ts';
import { expectSound } from '../support/rolloutOptions.ts';
import {
  type eager,
  essence,
  killedUntilDone,
  type TinyPreferences,
  tinyLightSettings,
  tinyToolLight,
  whole,
} from '../support/tinyPreferences.ts';

const { candidates, loops, heldOut, prefer, responseMax } = tinyLightSettings;

const fresh = freshFolders();
const run = (options: Omit<TinyPreferences<ToolLightSettings>, 'folder'> = {}) =>
  whole(tinyToolLight, { folder: fresh(), ...options });

describe('toolLight', () => {
  test('asks what direct answers got wrong again in each round, under the policy of that round', async () => {
    const { questions, evolved, demonstrations, rollouts, weights, ...rest } = await run();
    expect(rest.deadLetters).toEqual([]);
    expect(rest.lags).toEqual([]);
    expect(evolved.map(({ action, toolCalls }) => [action, toolCalls])).toEqual(
      Array(candidates).fill(['direct', 0]),
    );
    const hard = demonstrations.filter(({ difficulty }) => difficulty === 'hard');
    const wrong = evolved.filter(({ correct }) => !correct).map(({ question }) => question.id);
    const ids = hard.map(({ question }) => question.id).sort();
    expect(ids).toEqual(wrong.sort());
    expect(ids.length).toBeGreaterThan(tinyLightSettings.sourceMin);
    for (let round = 1; round <= 1 + loops; round++) {
      const asked = questions.filter((one) => one.phase === 'prefer' && one.round === round);
      expect(asked.map(({ id }) => id).sort()).toEqual(ids);
      const begun = weights.find(({ roundsDone }) => roundsDone === round - 1)!.version;
      const sampled = rollouts.filter(
        ({ question }) => question.phase === 'prefer' && question.round === round,
      );
      expect(new Set(sampled.map(({ version }) => version))).toEqual(new Set([begun]));
      expect(new Set(sampled.map(({ question }) => question.id)).size).toBe(ids.length);
    }
    for (const rollout of rollouts) expectSound(rollout, responseMax);
    expect(weights.at(-1)!.roundsDone).toBe(1 + loops);
    const evaluated = rest.metrics.filter(({ name }) => name === 'eval/questions');
    expect(evaluated.map(({ round, value }) => [round, value])).toEqual(
      [0, 1, 2, 3].map((round) => [round, heldOut]),
    );
  });

  test('samples some questions freely and some guided in its first round, all freely later', async () => {
    const { rollouts, pairs, batches } = await run();
    const prefers = rollouts.filter(({ question }) => question.phase === 'prefer');
    const guided = new Set(
      prefers.filter(({ parent }) => parent !== null).map(({ question: { id } }) => id),
    );
    const first = prefers.filter(({ question }) => question.round === 1);
    const free = first.filter(({ question }) => !guided.has(question.id));
    expect(guided.size).toBeGreaterThan(0);
    expect(free.length).toBeGreaterThan(0);
    for (const { groupSize } of free) expect(groupSize).toBe(prefer.samples);
    const later = prefers.filter(({ question }) => question.round > 1);
    for (const { groupSize, parent } of later) {
      expect([groupSize, parent]).toEqual([prefer.samples, null]);
    }
    // Every step of the policy is measured: ties between few calls are broken by entropy.
    for (const { segments } of prefers) {
      const measured = segments.filter(
        ({ kind, entropy }) => kind === 'policy' && entropy !== null,
      );
      expect(measured.length).toBeGreaterThan(0);
    }
    const whys = pairs.flatMap((one) =>
      one.pairs.map(({ why }) => `${one.question.round} ${why} ${guided.has(one.question.id)}`),
    );
    for (const why of whys) {
      expect(why).toMatch(/^1 (vanilla false|guided true)$|^[23] self-evolved (true|false)$/);
    }
    expect(batches.every(({ kind }) => kind === 'dpo')).toBe(true);
    // A round begins at the policy that wrote its responses: the frozen reference.
    for (const { round, version, index } of batches) {
      const own = pairs.filter(({ question }) => question.round === round);
      expect(new Set(own.map((one) => one.version))).toEqual(new Set([version - index]));
    }
  });

  test('samples each question of its first round both ways, and pairs each way by itself', async () => {
    const { rollouts, pairs, batches } = await run({ settings: { ways: 'both' } });
    const prefers = rollouts.filter(({ question }) => question.phase === 'prefer');
    const first = prefers.filter(({ question }) => question.round === 1);
    for (const id of new Set(first.map(({ question }) => question.id))) {
      const group = first.filter(({ question }) => question.id === id);
      const main = prefer.samples;
      const parents = group
        .toSorted((a, b) => a.index - b.index)
        .map(({ parent }) => parent?.index);
      expect(parents.slice(0, main + 1)).toEqual(Array(main + 1).fill(undefined));
      expect(new Set(parents.slice(main + 1))).toEqual(new Set([main]));
    }
    const later = prefers.filter(({ question }) => question.round > 1);
    expect(new Set(later.map(({ groupSize }) => groupSize))).toEqual(new Set([prefer.samples]));
    const whys = new Set(
      pairs
        .filter(({ question }) => question.round === 1)
        .flatMap((one) => one.pairs.map(({ why }) => why)),
    );
    expect(whys.size).toBeGreaterThan(0);
    for (const why of whys) expect(why).toMatch(/^(vanilla|guided)\/(hard|easy)$/);
    const trained = batches.filter(({ round }) => round === 1).flatMap(({ examples }) => examples);
    expect(trained.length).toBeGreaterThan(0);
  });

  test('comes to the same end whatever the timing', async () => {
    const first = essence(await run({ timing: 1 }));
    expect(essence(await run({ timing: 2, settings: { concurrency: 7 } }))).toEqual(first);
  });

  test('killed at any commit and resumed, comes to the same end', async () => {
    const undisturbed = essence(await run());
    for (let seed = 0; seed < 3; seed++) {
      const folder = fresh();
      expect(await killedUntilDone(tinyToolLight, { folder }, seed)).toBeGreaterThan(1);
      const resumed = await whole(tinyToolLight, { folder });
      expect(essence(resumed)).toEqual(undisturbed);
    }
  });

  test('ends when direct answers are always right and no pair can be made', async () => {
    const script: typeof eager = (line) => {
      const [, a, b] = /(\d) ?\+ ?(\d)/.exec(line.context) ?? [];
      return `<think>So</think><answer>\\boxed{${Number(a) + Number(b)}}</answer><|end|>`;
    };
    const { questions, batches, weights } = await run({ script });
    const { sourceMin } = tinyLightSettings;
    expect(questions.filter(({ phase }) => phase === 'prefer')).toHaveLength(
      sourceMin * (1 + loops),
    );
    expect(batches.map(({ examples, last }) => [examples.length, last])).toEqual(
      Array(1 + loops).fill([0, true]),
    );
    expect(new Set(weights.map(({ digest }) => digest)).size).toBe(1);
  });
});
