/**
 * The quickstart, in small, as a user runs it: the built command line in processes of its own, killed with
 * SIGKILL at several moments and started again, tapped while it runs; then every topic is checked.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { firstValueFrom, map, toArray } from 'rxjs';
import { openLog } from '../../streams/embedded/openLog.ts';
import type { Topic } from '../../streams/topic.ts';
import { topics } from '../../topics/index.ts';
import {
  built,
  builtMillrace,
  type Command,
  type Ended,
  ROOT,
  sets,
} from '../support/commandLine.ts';
import { temporaryFolder } from '../support/folder.ts';

const SMALL = {
  'flywheel.questions': 6,
  'finetune.size': 2,
  rounds: 2,
  explore: 4,
  keep: 2,
  heldOut: 4,
  batchGroups: 1,
  rollouts: 4,
  initialRollouts: 2,
  evaluationRollouts: 1,
  responseMax: 200,
};
const runs = temporaryFolder();

const start = (...args: readonly string[]): Command =>
  builtMillrace(ROOT, ...args, '--runs', runs.path);
const run = (name: string): Command =>
  start('run', 'examples/quickstart/job.ts', '--run', name, '--seed', '5', ...sets(SMALL));

/** Kills the run with SIGKILL as soon as it says `line`; fails when it ended before. */
async function killedAt(name: string, line: RegExp): Promise<void> {
  const { code, err } = await run(name).signalAt(line, 'SIGKILL').ended;
  if (code !== null) throw new Error(`ended with ${code} before it said ${line}: ${err}`);
}

async function records<T>(name: string, topic: Topic<T>): Promise<readonly T[]> {
  const log = await openLog({ folder: join(runs.path, name, 'log'), mode: 'read' });
  try {
    return await firstValueFrom(
      log.tap(topic, { from: { kind: 'earliest' }, follow: false }).pipe(
        map((stored) => stored.value),
        toArray(),
      ),
    );
  } finally {
    await log.close();
  }
}

describe('a run that is killed and started again', () => {
  let tapped: Ended;

  beforeAll(async () => {
    expect(existsSync(built())).toBe(true);
    const undisturbed = run('undisturbed');
    const { code, err } = await undisturbed.ended;
    if (code !== 0) throw new Error(err);

    await killedAt('killed', /starting run/);
    await killedAt('killed', /the base policy/);
    await killedAt('killed', /fine-tuning · step 1 /);
    await killedAt('killed', /round 1 · step/);
    await killedAt('killed', /round 2 · step/);
    const last = run('killed');
    tapped = await start('tap', 'killed.rollouts', '-n', '2', '-o', 'ndjson').ended;
    const end = await last.ended;
    if (end.code !== 0) throw new Error(end.err);
  });

  afterAll(() => runs.remove());

  test('has exactly one terminal rollout for each question, phase, round and index', async () => {
    const rollouts = await records('killed', topics.rollouts);
    const ids = rollouts.map((rollout) => rollout.id);
    expect(new Set(ids).size).toBe(ids.length);
    const questions = await records('killed', topics.questions);
    const kept = (await records('killed', topics.selected)).filter((selected) => selected.kept);
    const asked = [
      ...questions
        .filter(({ phase }) => phase !== 'evolve')
        .map(({ id, phase, round }) => `${id}/${phase}-${round}`),
      ...kept.map(({ question }) => `${question.id}/practice-${question.round}`),
    ];
    const groups = new Map<string, number>();
    for (const { id, groupSize } of rollouts) {
      groups.set(id.slice(0, id.lastIndexOf('/')), groupSize);
    }
    expect([...groups.keys()].sort()).toEqual(asked.sort());
    expect(ids.length).toBe([...groups.values()].reduce((sum, size) => sum + size, 0));
  });

  test('has the whole pool of each question of the flywheel, once', async () => {
    const evolved = await records('killed', topics.evolved);
    const pools = new Map<string, number[]>();
    for (const { question, index, of } of evolved) {
      const pool = pools.get(question.id) ?? [];
      pools.set(question.id, [...pool, index]);
      expect(of).toBeGreaterThan(index);
    }
    expect(pools.size).toBe(SMALL['flywheel.questions']);
    for (const { question, of } of evolved) {
      expect(pools.get(question.id)!.sort((a, b) => a - b)).toEqual([...Array(of).keys()]);
    }
    const asked = (await records('killed', topics.demonstrations)).map(
      ({ question }) => question.id,
    );
    expect(asked.sort()).toEqual([...pools.keys()].sort());
  });

  test('has each step once in batches and each version once in weights', async () => {
    const steps = (await records('killed', topics.batches)).map((batch) => batch.step);
    const versions = (await records('killed', topics.weights)).map((weights) => weights.version);
    expect(steps).toEqual(steps.map((_, i) => i + 1));
    expect(versions).toEqual([0, ...steps]);
  });

  test('scores each group once and refers to rollouts that are there', async () => {
    const scored = await records('killed', topics.scored);
    const rollouts = await records('killed', topics.rollouts);
    const referred = scored.flatMap((group) => group.rollouts.map(({ offset }) => offset));
    expect(referred.sort((a, b) => a - b)).toEqual(rollouts.map((_, i) => i));
  });

  test('ends with the very weights of an undisturbed run', async () => {
    const digests = async (name: string): Promise<string[]> =>
      (await records(name, topics.weights)).map((weights) => String(weights.digest));
    expect(await digests('killed')).toEqual(await digests('undisturbed'));
  });

  test('has no dead letter', async () => {
    expect(await records('killed', topics.deadLetters)).toEqual([]);
  });

  test('can be tapped from another process while it goes on', () => {
    expect(tapped.code).toBe(0);
    const lines = tapped.out.trim().split('\n');
    expect(lines).toHaveLength(2);
    expect(JSON.parse(lines[0]!)).toHaveProperty('question.id');
  });
});
