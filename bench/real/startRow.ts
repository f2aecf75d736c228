/**
 * From the command to the first rollout in the log, as `millrace tap` shows it: `millrace run arpo` on a real
 * model, with Python as its tool.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AnyRow, atMost, type Bench } from '../model/bench.ts';
import { median, pause, timeMs } from '../table.ts';

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
    times.push(await timeMs(() => firstRollout(bench, questions, `start${turn}`)));
  const pair = { ours: median(times) / 1000, theirs: LIMIT_S };
  yield [
    atMost('run arpo to its first rollout, 135M', `${LIMIT_S} s`, pair, {
      unit: 's',
      goal: 1,
      note: '',
    }),
  ];
}

async function firstRollout(
  bench: Bench & { readonly path: string },
  questions: string,
  run: string,
) {
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
  await Promise.race([once(tap.stdout!, 'data'), failed]);
  tap.kill('SIGKILL');
  job.kill('SIGKILL');
  await ended;
}

function millrace(...args: readonly string[]) {
  return spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
}
