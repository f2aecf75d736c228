/** The data of a question: all its groups. */
import { MillraceError } from '../../../base/index.ts';
import { shellWord, thousands } from '../../../base/text/index.ts';
import type { QuestionData } from '../../wire/index.ts';
import { questionFacts } from '../run/rollouts.ts';
import type { Asked } from './asked.ts';

/** Fails with code `NOT_FOUND`. */
export async function data({ view, moment, id, groupsOf }: Asked): Promise<QuestionData> {
  const { askedIn } = await view.rounds();
  const found = await groupsOf(view.viewed.log, moment, { id, askedIn });
  const { groups, question, total, scanned, of } = found;
  if (question === null) {
    const among =
      scanned < of
        ? `, among the ${thousands(scanned)} of ${thousands(of)} records that were searched`
        : '';
    throw new MillraceError(
      'NOT_FOUND',
      `there is no question ${JSON.stringify(id.slice(0, 200))} in this run${among}`,
    );
  }
  return {
    ...(await view.frame(
      moment,
      `millrace tap ${view.viewed.name}.rollouts --key ${shellWord(id)}`,
    )),
    question: questionFacts(question),
    groups,
    total,
    scanned,
    of,
  };
}
