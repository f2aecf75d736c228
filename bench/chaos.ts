/**
 * Chaos: `npm run chaos`.
 *
 * A small job is started again and again in processes of its own and killed with SIGKILL at random moments:
 * by the clock, and at named points (inside a commit, inside an optimiser step, between the files of a
 * checkpoint and its manifest, …; chaos/points.ts), until its run is done; then another run begins, until the
 * requested number of kills is reached. On Kafka, a separate broker is killed and restarted at the same time.
 * Each finished run must keep every invariant of `millrace doctor` and have, version by version, the weights
 * of an undisturbed run. Exit code 1 if one does not; its folder is kept.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Option } from 'commander';
import { draws } from '../base/draws.ts';
import { type Broker, freePort, javaMissing, startBroker } from '../scripts/kafka/broker.ts';
import { type Ended, ended, OPENED, reachedIn } from './chaos/attempt.ts';
import type { Trainer } from './chaos/job.ts';
import { type Kill, type Point, points } from './chaos/points.ts';
import { quickstart, type Subject, tiny } from './chaos/subject.ts';
import { benchmark, whole } from './options.ts';
import { folderOnDisk, pause } from './table.ts';

interface Options {
  readonly kills: number;
  readonly seed: number;
  readonly log: 'embedded' | 'kafka';
  readonly trainer: Trainer;
  readonly job: 'tiny' | 'quickstart';
  readonly json: boolean;
}

const { kills, seed, log, trainer, job, json } = benchmark(
  'npm run chaos',
  `Kills runs of a small job with SIGKILL at random moments and starts them again until they are done, beside one
that is left alone: the invariants of millrace doctor must hold, and the weights of each version must be the
same. Exit code 1 when they are not.`,
)
  .option('--kills <N>', 'kills in all', whole, 200)
  .option('--seed <N>', 'seed of the random moments', whole, 1)
  .addOption(
    new Option('--log <log>', 'where records lie; with kafka a broker is started, and killed too')
      .choices(['embedded', 'kafka'])
      .default('embedded'),
  )
  .addOption(
    new Option('--trainer <trainer>', 'trainer of the tiny job')
      .choices(['fake', 'embedded'])
      .default('fake'),
  )
  .addOption(
    new Option('--job <job>', 'what is run').choices(['tiny', 'quickstart']).default('tiny'),
  )
  .parse()
  .opts<Options>();
const onKafka = log === 'kafka';

/** A run that is not done after so many starts never will be. */
const STARTS_MAX = 200;
/** Kills of the job between two of the broker. */
const KILLS_A_BROKER = 6;
/** Share of the kills that come by the clock. */
const BY_CLOCK = 1 / 3;

interface Tally {
  kills: number;
  starts: number;
  /** Starts that ended because no broker answered. */
  refused: number;
  runs: number;
  brokerKills: number;
  records: number;
  /** Kills by cause. */
  readonly by: Record<string, number>;
  readonly violations: string[];
}

const tally: Tally = {
  kills: 0,
  starts: 0,
  refused: 0,
  runs: 0,
  brokerKills: 0,
  records: 0,
  by: {},
  violations: [],
};
const tell = (line: string): void => {
  if (!json) console.log(line);
};

interface Undisturbed {
  readonly digests: readonly string[];
  readonly reached: Readonly<Record<Point, number>> | null;
  /**
   * The shortest whole attempt seen: kills by the clock fall within it, or most would come too late on a busy
   * machine.
   */
  ms: number;
}

async function leftAlone(subject: Subject): Promise<Undisturbed> {
  const run = `chaos-${stamp}-alone`;
  await subject.prepare(run);
  const attempt = await ended(subject.start(run, null, 0));
  if (attempt.code !== 0) throw new Error(`the job fails undisturbed:\n${attempt.err}`);
  const { violations, digests } = await subject.inspect(run);
  if (violations.length > 0) throw new Error(violations.join('\n'));
  tell(`undisturbed: ${digests.length} versions in ${(attempt.ms / 1000).toFixed(1)} s`);
  return { digests, reached: reachedIn(attempt), ms: attempt.ms };
}

/** When the next attempt is killed: at a point, or by the clock. */
function killOf(
  { hasPoints }: Subject,
  { reached, ms }: Undisturbed,
  run: number,
  start: number,
): { readonly kill: Kill | null; readonly killMs: number | null; readonly by: string } {
  const chance = draws('chaos', seed, run, start);
  if (!hasPoints || reached === null || chance.uniform(0) < BY_CLOCK) {
    return { kill: null, killMs: chance.uniform(1) * ms, by: 'clock' };
  }
  const point = points[chance.integer(2, points.length)]!;
  // Early, since an attempt has only the work that the ones before it left.
  const after = chance.integer(3, Math.max(1, Math.ceil(reached[point] / 3)));
  return { kill: { point, after, turns: chance.integer(4, 6) }, killMs: null, by: point };
}

/** Starts a run until it is done; once there have been enough kills it is left alone to finish. */
async function oneRun(subject: Subject, alone: Undisturbed, number: number): Promise<void> {
  const run = `chaos-${stamp}-${number}`;
  await subject.prepare(run);
  const wrong: string[] = [];
  for (let start = 0; ; start++) {
    const enough = tally.kills >= kills;
    const { kill, killMs, by } = enough
      ? { kill: null, killMs: null, by: '' }
      : killOf(subject, alone, number, start);
    const timing = draws('chaos', seed, number).integer(start, 1000);
    tally.starts += 1;
    const broker = kafka.back;
    const attempt = await ended(subject.start(run, kill, timing), killMs);
    if (attempt.signal === 'SIGKILL') {
      tally.kills += 1;
      tally.by[by] = (tally.by[by] ?? 0) + 1;
      if (onKafka && tally.kills % KILLS_A_BROKER === 0) kafka.back ??= restartBroker();
    } else if (attempt.code === 0) {
      if (start === 0) alone.ms = Math.min(alone.ms, attempt.ms);
      break;
    } else if (
      broker !== null &&
      !attempt.out.startsWith(OPENED) &&
      attempt.err.includes("'KAFKA'")
    ) {
      // If no broker answers at the start, the attempt says so and ends, and is started again when one does.
      tally.refused += 1;
      await broker;
    } else wrong.push(`start ${start + 1} failed: ${lastLines(attempt)}`);
    if (wrong.length > 0 || start >= STARTS_MAX) break;
  }
  await kafka.back;
  if (wrong.length === 0) {
    const { violations, digests, records } = await subject.inspect(run);
    tally.records += records;
    wrong.push(...violations);
    if (digests.join() !== alone.digests.join()) {
      wrong.push(`other weights than undisturbed: ${digests.length} versions`);
    }
  }
  tally.runs += 1;
  for (const what of wrong) tally.violations.push(`${run}: ${what}`);
  if (wrong.length === 0) rmSync(join(folder, run), { recursive: true, force: true });
  const found = wrong.length === 0 ? 'sound' : wrong.join('; ');
  tell(`run ${number}: ${found}; ${tally.kills} kills in ${tally.starts} starts so far`);
}

function lastLines({ code, signal, err }: Ended): string {
  return `${code ?? signal}: ${err.trim().split('\n').slice(-12).join(' | ')}`;
}

/** On Kafka: the broker, and its restart while it is down. */
const kafka: { broker: Broker | null; back: Promise<void> | null } = { broker: null, back: null };

/** Killed, gone for a while, and back again, while the job goes on being started and killed. */
async function restartBroker(): Promise<void> {
  tally.brokerKills += 1;
  const port = Number(kafka.broker!.address.split(':')[1]);
  await kafka.broker!.kill();
  await pause(2_000);
  kafka.broker = await startBroker({ folder: join(folder, 'kafka'), port });
  kafka.back = null;
}

function reasonToSkip(): string | null {
  return onKafka ? javaMissing() : null;
}

const stamp = `${process.pid}`;
const folder = folderOnDisk('chaos');
const skipped = reasonToSkip();
try {
  if (skipped === null) {
    if (onKafka) {
      const port = await freePort();
      kafka.broker = await startBroker({ folder: join(folder, 'kafka'), port, tell });
    }
    const where = { folder, url: kafka.broker === null ? null : `kafka://${kafka.broker.address}` };
    const subject = job === 'quickstart' ? quickstart(where) : tiny(where, trainer);
    const alone = await leftAlone(subject);
    for (let run = 0; tally.kills < kills; run++) await oneRun(subject, alone, run);
  }
} finally {
  await kafka.back?.catch(() => undefined);
  await kafka.broker?.stop();
  if (tally.violations.length === 0) rmSync(folder, { recursive: true, force: true });
}
tell(skipped === null ? '' : `skipped: ${skipped}`);
tell(
  `${log}, ${job}, seed ${seed}: ${tally.kills} kills and ${tally.brokerKills} of the broker in ${tally.starts} starts of ${tally.runs} runs; ${tally.records} records; ${tally.violations.length} violations`,
);
tell(
  Object.entries(tally.by)
    .map(([by, count]) => `${by} ${count}`)
    .join(', '),
);
for (const violation of tally.violations) tell(violation);
if (json)
  console.log(JSON.stringify({ name: 'chaos', log, trainer, job, seed, skipped, ...tally }));
process.exitCode = tally.violations.length === 0 ? 0 : 1;
