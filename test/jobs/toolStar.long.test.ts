import { describe, expect, test } from '@jest/globals';
import type { ToolStarSettings } from '../../jobs/toolStar.ts';
import { versionDue } from '../../topics/index.ts';
import { freshFolders } from '../support/folder.ts';
import { expectSound } from '../support/rolloutOptions.ts';
import {
  type eager,
  essence,
  killedUntilDone,
  type TinyPreferences,
  tinyStarSettings,
  tinyToolStar,
  whole,
} from '../support/tinyPreferences.ts';

const { coldStart, critic, criticQuestions, hardMin, hardMax, heldOut } = tinyStarSettings;
const { responseMax, batchGroups, rollouts: n } = tinyStarSettings;

const fresh = freshFolders();
const run = (options: Omit<TinyPreferences<ToolStarSettings>, 'folder'> = {}) =>
  whole(tinyToolStar, { folder: fresh(), ...options });

/** What each round trains on: cold start, then twice RL and self-critic. */
const KINDS = ['sft', 'policy', 'dpo', 'policy', 'dpo'];

describe('toolStar', () => {
  test('goes from cold start to RL to self-critic and again, each from the weights before', async () => {
    const { batches, weights, deadLetters, lags, metrics, pairs } = await run();
    expect(deadLetters).toEqual([]);
    expect(lags).toEqual([]);
    const kinds = batches.map(({ round, kind }) => `${round} ${kind}`);
    expect([...new Set(kinds)]).toEqual(KINDS.map((kind, i) => `${i + 1} ${kind}`));
    expect(kinds).toEqual(kinds.toSorted());
    expect(weights.map(({ version, parent }) => [version, parent])).toEqual(
      [0, ...batches.map(({ step }) => step)].map((_, i) => [i, i - 1]),
    );
    expect(weights.at(-1)!.roundsDone).toBe(KINDS.length);
    // The reference of a self-critic is the policy that wrote its responses.
    for (const { round, version, index } of batches.filter(({ kind }) => kind === 'dpo')) {
      const own = pairs.filter(({ question }) => question.round === round);
      expect(own).toHaveLength(criticQuestions);
      expect(new Set(own.map((one) => one.version))).toEqual(new Set([version - index]));
    }
    const evaluated = metrics.filter(({ name }) => name === 'eval/questions');
    expect(evaluated.map(({ round, value }) => [round, value])).toEqual(
      [0, ...KINDS.map((_, i) => i + 1)].map((round) => [round, heldOut]),
    );
  });

  test('keeps direct answers of easy questions and tool-integrated ones of medium ones', async () => {
    const { demonstrations, evolved } = await run();
    expect(demonstrations).toHaveLength(coldStart.questions);
    const actions = new Set(evolved.map(({ action }) => action));
    expect([...actions].sort()).toEqual(['direct', 'reflect-hint', 'tools', 'verify-hint']);
    const classes = new Set(demonstrations.map(({ difficulty }) => difficulty));
    expect([...classes].sort()).toEqual(['easy', 'hard', 'medium']);
    for (const { difficulty, kept } of demonstrations) {
      for (const { action, toolCalls } of kept) {
        if (difficulty === 'easy') expect([action, toolCalls]).toEqual(['direct', 0]);
        else
          expect([difficulty, action === 'direct', toolCalls > 0]) //
            .toEqual(['medium', false, true]);
      }
    }
  });

  test('trains RL on the hard questions, in every round, on-policy, without branches', async () => {
    const { questions, demonstrations, rollouts, batches, scored, weights } = await run();
    const hard = demonstrations.filter(({ difficulty }) => difficulty === 'hard').length;
    const size = Math.min(Math.max(hard, hardMin), hardMax);
    for (const round of [2, 4]) {
      const asked = questions.filter((one) => one.phase === 'practice' && one.round === round);
      expect(asked.map(({ schedule }) => schedule!.index)).toEqual([...Array(size).keys()]);
      const trained = batches
        .filter((one) => one.round === round)
        .flatMap(({ groups }) => groups.map(({ questionId }) => questionId));
      expect(trained).toEqual(asked.map(({ id }) => id));
    }
    for (const rollout of rollouts) {
      expectSound(rollout, responseMax);
      const { question, version, parent, groupSize } = rollout;
      expect(version).toBe(versionDue(question, weights, { batchGroups, window: 1 }));
      const sizes = { evaluate: 2, practice: n, prefer: critic.samples } as const;
      expect([parent, groupSize]).toEqual([null, sizes[question.phase as keyof typeof sizes]]);
    }
    for (const { rewards } of scored) {
      for (const { score } of rewards) expect([-1, 0, 1]).toContain(score);
    }
  });

  test('comes to the same end whatever the timing', async () => {
    const first = essence(await run({ timing: 1 }));
    expect(essence(await run({ timing: 2, settings: { concurrency: 7 } }))).toEqual(first);
  });

  test('killed at any commit and resumed, comes to the same end', async () => {
    const undisturbed = essence(await run());
    for (let seed = 0; seed < 3; seed++) {
      const folder = fresh();
      expect(await killedUntilDone(tinyToolStar, { folder }, seed)).toBeGreaterThan(1);
      expect(essence(await whole(tinyToolStar, { folder }))).toEqual(undisturbed);
    }
  });

  test('leaves the self-critic out if it is not wanted', async () => {
    const { batches, weights } = await run({ settings: { criticQuestions: 0 } });
    expect([...new Set(batches.map(({ round, kind }) => `${round} ${kind}`))]).toEqual([
      '1 sft',
      '2 policy',
      '3 policy',
    ]);
    expect(weights.at(-1)!.roundsDone).toBe(3);
  });

  test('ends when everything is easy and no preference is left', async () => {
    const script: typeof eager = ({ context }) => {
      const [, a, b] = /(\d) ?\+ ?(\d)/.exec(context) ?? [];
      return `<think>So</think><answer>\\boxed{${Number(a) + Number(b)}}</answer><|end|>`;
    };
    const { questions, batches, weights } = await run({ script, settings: { loops: 1 } });
    expect(questions.filter(({ phase }) => phase === 'practice')).toHaveLength(hardMin);
    expect(batches.at(-1)).toMatchObject({ kind: 'dpo', examples: [], last: true });
    expect(weights.at(-1)!.roundsDone).toBe(3);
  });
});
