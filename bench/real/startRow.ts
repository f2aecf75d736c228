/**
 * From the command to the end of the first rollout: `millrace run arpo` on a real model, with Python as its
 * tool. The log has it, and when it ended, once the other rollouts of its group have ended too.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../base/index.ts';
import type { Rollout } from '../../topics/index.ts';
import { type AnyRow, atMost, type Bench } from '../model/bench.ts';
import { median, pause } from '../table.ts';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const LIMIT_S = 15;
const QUESTIONS = Array.from({ length: 8 }, (_, i) => ({
  id: `q${i}`,
  question: `What is ${i + 3} * ${i + 7}?`,
  answer: String((i + 3) * (i + 7)),
}));

export async function* startRow(
  bench: Bench & { readonly path: string },
): AsyncGenerator<AnyRow[]> {
  const questions = join(bench.folder, 'questions.jsonl');
  mkdirSync(bench.folder, { recursive: true });
  writeFileSync(questions, QUESTIONS.map((each) => `${JSON.stringify(each)}\n`).join(''));
  const times: number[] = [];
  for (let turn = 0; turn < (bench.quick ? 1 : 3); turn++)
    times.push(await untilRolloutMs(bench, questions, `start${turn}`));
  const pair = { ours: median(times) / 1000, theirs: LIMIT_S };
  yield [
    atMost('run arpo until its first rollout has ended, 135M', `${LIMIT_S} s`, pair, {
      unit: 's',
      goal: 1,
      note: '',
    }),
  ];
}

async function untilRolloutMs(
  bench: Bench & { readonly path: string },
  questions: string,
  run: string,
): Promise<number> {
  const startedMs = systemClock.now();
  const runs = join(bench.folder, 'runs');
  const set = [`policy=${bench.path}`, `questions=${questions}`, 'tools=python', 'heldOut=1'];
  const job = millrace(
    'run',
    'arpo',
    '--run',
    run,
    '--runs',
    runs,
    '--quiet',
    ...set.flatMap((each) => ['--set', each]),
  );
  const ended = once(job, 'exit');
  const failed = ended.then(([code]) => {
    throw new Error(`millrace run arpo ended with code ${code}`);
  });
  failed.catch(() => undefined);
  while (!existsSync(join(runs, run, 'log'))) await Promise.race([pause(100), failed]);
  const tap = millrace('tap', `${run}.rollouts`, '--runs', runs, '-f', '-n', '1', '-o', 'ndjson');
  const lines = createInterface({ input: tap.stdout! });
  const [line] = (await Promise.race([once(lines, 'line'), failed])) as [string];
  tap.kill('SIGKILL');
  job.kill('SIGKILL');
  await ended;
  return (JSON.parse(line) as Rollout).endedMs - startedMs;
}

function millrace(...args: readonly string[]) {
  return spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
}
