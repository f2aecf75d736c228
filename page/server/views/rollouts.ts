/** The data of the table of rollouts: the newest ones, with their scores. */

import { MillraceError } from '../../../base/index.ts';
import { thousands } from '../../../base/text/index.ts';
import { extractAnswer } from '../../../operators/dialect/index.ts';
import type { From, Stored, Topic } from '../../../streams/index.ts';
import { type Scored, topics } from '../../../topics/index.ts';
import type { RolloutsData } from '../../wire/index.ts';
import { limits } from '../run/limits.ts';
import type { Moment } from '../run/moment.ts';
import { stretch } from '../run/records.ts';
import { refOf } from '../run/refs.ts';
import { rolloutRow } from '../run/rollouts.ts';
import { type Asked, numberIn } from './asked.ts';

const ROWS = 200;
const TEXT_MAX = 200;

export async function data({ view, moment, query }: Asked): Promise<RolloutsData> {
  const { log } = view.viewed;
  const most = Math.trunc(numberIn(query, 'n') ?? ROWS);
  if (most < 1 || most > limits.rowsMax) {
    throw new MillraceError('USAGE', `n= takes 1 to ${thousands(limits.rowsMax)}`);
  }
  const newest = <T>(topic: Topic<T>) => stretch(log, topic, newestOf(topic.name, moment, most));
  const [rollouts, groups] = [await newest(topics.rollouts), await newest(topics.scored)];
  const scored = new Map<string, Scored>();
  for (const { value } of groups.rows) {
    for (const position of value.rollouts) scored.set(refOf(position), value);
  }
  const { askedIn } = await view.rounds();
  const stats = await log.stats();
  const counted = stats.find(({ topic }) => topic === topics.rollouts.name)?.records ?? 0;
  return {
    ...(await view.frame(moment, `millrace tap ${view.viewed.name}.rollouts`)),
    rows: byAge(rollouts.rows).map((stored) => {
      const { question, text } = stored.value;
      return {
        ...rolloutRow(stored, scored.get(refOf(stored.position)) ?? null),
        text: question.question.slice(0, TEXT_MAX),
        answer: (extractAnswer(text, 'rollout') ?? '').slice(0, TEXT_MAX),
        phase: askedIn(question),
      };
    }),
    total: moment.recordsOf(topics.rollouts.name) ?? counted,
  };
}

function newestOf(
  topic: string,
  moment: Moment,
  count: number,
): { readonly from: From; readonly to: From | undefined } {
  const end = moment.recordsOf(topic);
  const from: From =
    end === null ? { kind: 'last', count } : { kind: 'offset', offset: Math.max(0, end - count) };
  return { from, to: moment.endOf(topic) };
}

function byAge<T>(rows: readonly Stored<T>[]): Stored<T>[] {
  return [...rows].sort((a, b) => b.atMs - a.atMs || b.position.offset - a.position.offset);
}
