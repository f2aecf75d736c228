/**
 * The plan of a training job, whether its questions are finite or endless: the one place where a job takes
 * them.
 */
import { counted } from '../base/text/index.ts';
import { isEndless } from '../sources/endless/index.ts';
import type { SourceItem } from '../streams/index.ts';
import { asksOf, type EndlessPlan, endlessItems } from './endlessPlan.ts';
import {
  described,
  type JobQuestions,
  type Layout,
  noHeldOut,
  planRounds,
  type QuestionPlan,
  type RoundsOptions,
  read,
} from './plan.ts';

/** What planning endless questions needs in addition. */
export interface EndlessOptions
  extends RoundsOptions,
    Pick<EndlessPlan, 'log' | 'clock' | 'print'> {}

/**
 * The plan of a job, whether its questions are finite or endless. Fails as `planRounds` does.
 */
export async function planQuestions(
  { train, heldOut, file }: JobQuestions,
  layout: Layout,
  options: EndlessOptions,
): Promise<QuestionPlan> {
  const held = heldOut === undefined ? {} : { heldOut };
  if (!isEndless(train)) {
    const plan = await planRounds(
      { train, ...held, ...(file !== undefined && { file }) },
      layout,
      options,
    );
    if (plan.heldOut < options.heldOut) options.print(fewerHeldOut(plan, options, held));
    return plan;
  }
  const deadLetters: SourceItem<never>[] = [];
  const rows = heldOut && (await read(heldOut, deadLetters)).slice(0, options.heldOut);
  if (rows?.length === 0) throw noHeldOut(deadLetters);
  const rounds = layout(Number.POSITIVE_INFINITY);
  const { log, clock, print } = options;
  const given = rows ?? options.heldOut;
  const plan = { arriving: train, heldOut: given, deadLetters, rounds, log, clock, print };
  const asks = asksOf(plan) ?? 'all';
  print(`taking questions from ${train.name} as they arrive; the job needs ${asks}`);
  return {
    ...described(rounds, rows?.length ?? options.heldOut),
    items: endlessItems(plan),
    train: Number.POSITIVE_INFINITY,
  };
}

function fewerHeldOut(
  plan: Pick<QuestionPlan, 'heldOut' | 'train'>,
  { heldOut }: Pick<EndlessOptions, 'heldOut'>,
  file: Pick<JobQuestions, 'heldOut'>,
): string {
  const all = plan.heldOut + plan.train;
  const why = file.heldOut === undefined ? `the maximum is 30 % of ${all}` : 'all in the file';
  return `heldOut=${heldOut} is too many: holding out ${counted(plan.heldOut, 'question')} (${why})`;
}
