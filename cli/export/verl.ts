/**
 * `millrace export RUN.questions --schema verl` writes `train_processed_stage<N>.parquet`, one a round, with
 * the questions that Pareto sampling kept (or, without it, those that were asked to train on); `RUN.rollouts`
 * writes `<step>.jsonl`, the rollouts of each step as verl dumps them (ET-Agent §8.9).
 */
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { finished } from 'node:stream/promises';
import { lastValueFrom, toArray } from 'rxjs';
import { about } from '../../base/index.ts';
import { jsonText } from '../../base/terminal/index.ts';
import { counted } from '../../base/text/index.ts';
import { type PromptRecord, QUESTION, recordedPrompt } from '../../jobs/parts/index.ts';
import { rowColumns, tableFormats } from '../../sinks/tables/index.ts';
import type { Log, Stored, Topic } from '../../streams/index.ts';
import { type Question, topics } from '../../topics/index.ts';
import { usageError } from '../failure.ts';
import type { Io } from '../io.ts';
import type { Run } from '../runs.ts';
import { inScratch, type Scratch } from '../scratch.ts';
import { verlRows, verlSchema } from './verlRows.ts';

/** What to export, and where to. */
export interface Place {
  readonly run: Run;
  readonly log: Log;
  /** Folder for the files. */
  readonly out: string;
  readonly scratch: Scratch;
  readonly io: Io;
}

/** From these topics, `questions` or `rollouts`; fails with `USAGE` for others. */
export async function exportVerl(names: readonly string[], place: Place): Promise<void> {
  const other = names.find((name) => name !== 'questions' && name !== 'rollouts');
  if (other !== undefined || names.length === 0)
    throw usageError(
      `--schema verl is for questions and rollouts, not ${other ?? 'these topics'}: ${place.run.name}.questions, ${place.run.name}.rollouts`,
    );
  const prompt = await recordedPrompt(place.run.folder);
  if (names.includes('questions')) await writeStages(place, prompt?.system ?? '');
  if (names.includes('rollouts')) await writeSteps(place, prompt);
}

async function writeStages({ run, log, out, scratch, io }: Place, system: string): Promise<void> {
  const rounds = await trainedOn(log);
  if (rounds.length === 0)
    throw usageError(`${run.name} has no questions to train on yet; export it later`);
  for (const [i, questions] of rounds.entries()) {
    const stage = i + 1;
    const path = join(out, `train_processed_stage${stage}.parquet`);
    const rows = verlRows(questions, { system, seed: run.record.seed, stage });
    await inScratch(scratch, `${path}.tmp`, async () => {
      const columns = () => rowColumns(verlSchema);
      const file = tableFormats.parquet!(`${path}.tmp`, { columns, line: jsonText });
      for (const value of rows) file.add({ value, bytes: 4096 } as Stored<unknown>);
      file.finish();
      await rename(`${path}.tmp`, path);
    });
    await io.out(`${relative(io.cwd, path) || path}: ${counted(rows.length, 'row')}\n`);
  }
}

/** By round, in the order of selection; empty rounds are left out. */
async function trainedOn(log: Log): Promise<readonly (readonly Question[])[]> {
  const kept = new Map<number, { question: Question; index: number }[]>();
  for (const { value } of await all(log, topics.selected)) {
    if (!value.kept) continue;
    const { round } = value.question;
    kept.set(round, [...(kept.get(round) ?? []), { question: value.question, index: value.index }]);
  }
  if (kept.size > 0) {
    return [...kept]
      .sort(([a], [b]) => a - b)
      .map(([, chosen]) =>
        [...chosen].sort((a, b) => a.index - b.index).map(({ question }) => question),
      );
  }
  const asked = new Map<number, Map<string, Question>>();
  for (const { value } of await all(log, topics.questions)) {
    if (value.phase !== 'explore' && value.phase !== 'practice') continue;
    const round = asked.get(value.round) ?? new Map<string, Question>();
    asked.set(value.round, round.set(value.id, value));
  }
  return [...asked].sort(([a], [b]) => a - b).map(([, round]) => [...round.values()]);
}

async function writeSteps(
  { run, log, out, scratch, io }: Place,
  prompt: PromptRecord | null,
): Promise<void> {
  const steps = (await all(log, topics.batches)).filter(({ value }) => value.kind === 'policy');
  if (steps.length === 0)
    throw usageError(`${run.name} has no step on rollouts yet; export it later`);
  let records = 0;
  for (const { value: batch } of steps) {
    const path = join(out, `${batch.step}.jsonl`);
    await inScratch(scratch, `${path}.tmp`, async () => {
      const file = createWriteStream(`${path}.tmp`);
      try {
        for (const { scored: at } of batch.groups) {
          const [group] = await log.fetch(topics.scored, [at]);
          const { rollouts, rewards, question } = group!.value;
          const found = await log.fetch(topics.rollouts, rollouts);
          const input = (prompt?.prompt ?? QUESTION).replace(QUESTION, () => question.question);
          for (const [i, { value }] of found.entries()) {
            const { score, parts } = rewards[i]!;
            const line = { input, output: value.text, score, step: batch.step, ...parts };
            file.write(`${jsonText(line)}\n`);
            records += 1;
          }
        }
        file.end();
        await finished(file);
      } catch (error) {
        file.destroy();
        throw about(path, error);
      }
      await rm(path, { force: true });
      await rename(`${path}.tmp`, path);
    });
  }
  const first = join(relative(io.cwd, out) || '.', `${steps[0]!.value.step}.jsonl`);
  await io.out(
    `${first} and on: ${counted(steps.length, 'step')}, ${counted(records, 'rollout')}\n`,
  );
}

async function all<T>(log: Log, topic: Topic<T>): Promise<readonly Stored<T>[]> {
  if (!(await log.stats()).some((one) => one.topic === topic.name)) return [];
  const stored$ = log.tap(topic, { from: { kind: 'earliest' }, follow: false });
  return lastValueFrom(stored$.pipe(toArray()));
}
