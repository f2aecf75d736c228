import { describe, expect, test } from '@jest/globals';
import { draws } from '../../base/draws.ts';
import { hasCode } from '../../base/errors.ts';
import { freshFolders } from '../support/folder.ts';
import {
  type RunRecords,
  readRun,
  type TinyOptions,
  tinyCalibration,
  tinySettings,
} from '../support/tinyCalibration.ts';

const EVOLVE = 8;
const { rounds, heldOut } = tinySettings;

const fresh = freshFolders();

async function whole(options: Omit<TinyOptions, 'folder'> = {}): Promise<RunRecords> {
  const folder = fresh();
  expect((await tinyCalibration({ folder, evolve: EVOLVE, ...options })).end).toBe('quiescent');
  return readRun(folder);
}

/** What must not depend on timing or crashes. */
function essence({ evolved, demonstrations, toolCalls, batches, weights }: RunRecords) {
  const byText = <T>(items: readonly T[]): string[] =>
    items.map((item) => JSON.stringify(item)).sort();
  return {
    evolved: byText(evolved),
    demonstrations: byText(demonstrations),
    toolCalls: byText(toolCalls),
    batches: batches.map(({ step, round, kind, examples, groups }) => ({
      step,
      round,
      kind,
      of: [...examples, ...groups].map(({ questionId }) => questionId),
    })),
    weights: weights.map(({ version, roundsDone, digest }) => ({ version, roundsDone, digest })),
  };
}

describe('flywheel, fine-tuning and calibration in one job', () => {
  test('run one after the other, each from the weights of the one before', async () => {
    const run = await whole();
    expect(run.deadLetters).toEqual([]);
    expect(run.lags).toEqual([]);
    const pools = new Set(run.evolved.map(({ question }) => question.id));
    expect(pools.size).toBe(EVOLVE);
    expect(run.demonstrations).toHaveLength(EVOLVE);
    const kept = run.demonstrations.filter((one) => one.kept.length > 0);
    expect(kept.length).toBeGreaterThan(2);

    const kinds = run.batches.map(({ kind, round }) => `${kind} ${round}`);
    const tuned = kinds.filter((kind) => kind === 'sft 1');
    expect(tuned).toHaveLength(Math.ceil(kept.length / 2));
    expect(kinds.slice(0, tuned.length)).toEqual(tuned);
    expect(new Set(kinds.slice(tuned.length))).toEqual(new Set(['policy 2', 'policy 3']));
    const trainedOn = run.batches.flatMap(({ examples }) => examples.map((one) => one.questionId));
    expect(trainedOn.sort()).toEqual(kept.map(({ question }) => question.id).sort());

    // The flywheel sees the base policy, calibration what fine-tuning made of it.
    expect(new Set(run.evolved.map(({ version }) => version))).toEqual(new Set([0]));
    const explored = run.rollouts.filter(
      ({ question: { phase, round } }) => phase === 'explore' && round === 2,
    );
    expect(new Set(explored.map(({ version }) => version))).toEqual(new Set([tuned.length]));
    expect(run.weights.at(-1)!.roundsDone).toBe(rounds + 1);
    const evaluated = run.metrics.filter(({ name }) => name === 'eval/questions');
    expect(evaluated.map(({ round, value }) => [round, value])).toEqual(
      [0, 1, 2, 3].map((round) => [round, heldOut]),
    );
  });

  test('come to the same end whatever the timing, and with groups trained on as they are', async () => {
    for (const select of ['questions', 'groups'] as const) {
      const first = essence(await whole({ timing: 1, settings: { select } }));
      const second = await whole({ timing: 2, settings: { select, concurrency: 7 } });
      expect(essence(second)).toEqual(first);
    }
  });

  test('killed at any commit and resumed, come to the same end', async () => {
    const undisturbed = essence(await whole());
    for (let seed = 0; seed < 4; seed++) {
      const folder = fresh();
      const stream = draws('kill', seed);
      let starts = 0;
      for (let end = ''; end !== 'quiescent'; starts++) {
        const fate = {
          commitsLeft: stream.integer(2 * starts, 50),
          lastIsWritten: stream.uniform(2 * starts + 1) < 0.5,
        };
        const timing = 100 * seed + starts;
        ({ end } = await tinyCalibration({ folder, evolve: EVOLVE, timing, fate }));
      }
      expect(starts).toBeGreaterThan(1);
      expect(essence(await readRun(folder))).toEqual(undisturbed);
    }
  });

  test('end there if the flywheel finds nothing worth imitating', async () => {
    const script = () => '<think>So</think><answer>\\boxed{99}</answer><|end|>';
    const error = await whole({ script }).catch((failed: Error) => failed);
    expect(hasCode((error as Error).cause, 'NO_DEMONSTRATIONS')).toBe(true);
  });
});
