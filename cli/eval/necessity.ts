/** `millrace eval --against RUN…`: Tool-Light's Necessity of this evaluation and others. */
import { lastValueFrom, toArray } from 'rxjs';
import { table } from '../../base/terminal/index.ts';
import { type Necessities, necessities } from '../../operators/metrics/index.ts';
import { type Scored, topics } from '../../topics/index.ts';
import { usageError } from '../failure.ts';
import type { Io } from '../io.ts';
import { EVALUATION, findRun, type Run, withLog } from '../runs.ts';

export interface ComparedUse {
  /** The runs to compare, this one first. */
  readonly against: readonly string[];
  readonly necessity: readonly Necessities[];
}

/** Fails with `NO_RUN`, and with `USAGE` for a run that is not an evaluation or shares no question. */
export async function necessity(
  own: Run,
  others: readonly string[],
  runs: string,
  io: Io,
): Promise<ComparedUse> {
  const all = [own];
  for (const name of others) {
    const run = await findRun(io, runs, name);
    if (run.record.job.name !== EVALUATION)
      throw usageError(`--against: ${name} is not an evaluation; give runs of millrace eval`);
    all.push(run);
  }
  const groups: Scored[][] = [];
  for (const run of all) groups.push(await scoredOf(run));
  const found = necessities(groups);
  if (found.every(({ questions }) => questions === 0))
    throw usageError(
      `--against: ${others.join(', ')} and ${own.name} have no question in common; evaluate on the same files`,
    );
  return { against: all.map(({ name }) => name), necessity: found };
}

function scoredOf(run: Run): Promise<Scored[]> {
  return withLog(run, async (log) => {
    const stored$ = log.tap(topics.scored, { from: { kind: 'earliest' }, follow: false });
    return (await lastValueFrom(stored$.pipe(toArray()))).map(({ value }) => value);
  });
}

export function necessityText({ against, necessity: rows }: ComparedUse): string {
  const head = ['necessity', 'questions', ...against];
  const lines = rows.map(({ source, questions, values }) => [
    source,
    String(questions),
    ...(values.length === 0 ? against.map(() => '–') : values.map((value) => value.toFixed(4))),
  ]);
  return table([head, ...lines], ['left', ...head.slice(1).map((): 'right' => 'right')]);
}
