/**
 * Finds the groups of a question: each time it was rolled out, and what was scored, selected and trained on
 * then.
 */
import type { Log, Stored } from '../../../streams/index.ts';
import { asked, type Question, type Rollout, type Scored, topics } from '../../../topics/index.ts';
import type { Group } from '../../wire/index.ts';
import type { Moment } from './moment.ts';
import { recordsAt, Search } from './records.ts';
import { refOf } from './refs.ts';
import { groupOf } from './rollouts.ts';
import type { Rounds } from './rounds.ts';

const GROUPS_MAX = 64;
/** Records searched in each topic, if a log has no index. */
const SEARCH_MAX = 100_000;

export interface FoundGroups {
  /** Oldest first. */
  readonly groups: readonly Group[];
  /** Null if nothing is known about it. */
  readonly question: Question | null;
  readonly total: number;
  readonly scanned: number;
  readonly of: number;
}

/** Limited to one time it was asked if `only` says which (`asked`); `askedIn` puts the time in words. */
export async function groupsOf(
  log: Log,
  moment: Moment,
  { id, only, askedIn }: { readonly id: string; readonly only?: string } & Pick<Rounds, 'askedIn'>,
): Promise<FoundGroups> {
  const search = new Search(log, moment, SEARCH_MAX);
  const about = { subjects: [id] };
  const isMeant = (question: Question): boolean =>
    question.id === id && (only === undefined || asked(question) === only);
  const scored = await search.find(topics.scored, about, ({ question }) => isMeant(question));
  const groups = await scoredGroups(search, log, scored.slice(-GROUPS_MAX), { id, askedIn });
  const times = new Set(scored.map(({ value }) => asked(value.question)));
  // A time with scored groups has no unscored ones.
  const rest =
    only !== undefined && scored.length > 0
      ? []
      : await search.find(
          topics.rollouts,
          about,
          ({ question }) => isMeant(question) && !times.has(asked(question)),
        );
  const open = byTime(rest);
  const question =
    scored.at(-1)?.value.question ??
    rest.at(-1)?.value.question ??
    (await search.find(topics.questions, about, isMeant)).at(-1)?.value ??
    null;
  return {
    groups: [
      ...groups,
      ...open.slice(-GROUPS_MAX).map((rollouts) => ofRollouts(rollouts, askedIn)),
    ],
    question,
    total: scored.length + open.length,
    scanned: search.scanned,
    of: search.of,
  };
}

async function scoredGroups(
  search: Search,
  log: Log,
  scored: readonly Stored<Scored>[],
  { id, askedIn }: { readonly id: string } & Pick<Rounds, 'askedIn'>,
): Promise<Group[]> {
  if (scored.length === 0) return [];
  const about = { subjects: [id] };
  const selected = await search.find(topics.selected, about, ({ question }) => question.id === id);
  const batches = await search.find(topics.batches, about, ({ groups }) =>
    groups.some(({ questionId }) => questionId === id),
  );
  const positions = scored.flatMap(({ value }) => value.rollouts);
  const rollouts = await recordsAt(log, topics.rollouts, positions);
  return scored.map((group) => {
    const ref = refOf(group.position);
    return groupOf({
      when: askedIn(group.value.question),
      question: group.value.question,
      scored: group,
      rollouts: group.value.rollouts.flatMap((position) => rollouts.get(refOf(position)) ?? []),
      selected: selected.find(({ value }) => refOf(value.scored) === ref) ?? null,
      batch:
        batches.find(({ value }) => value.groups.some((one) => refOf(one.scored) === ref)) ?? null,
    });
  });
}

/** Groups that were rolled out but not scored, yet or ever. */
function byTime(rollouts: readonly Stored<Rollout>[]): Stored<Rollout>[][] {
  const times = new Map<string, Stored<Rollout>[]>();
  for (const rollout of rollouts) {
    const time = asked(rollout.value.question);
    times.set(time, [...(times.get(time) ?? []), rollout]);
  }
  return [...times.values()];
}

function ofRollouts(rollouts: readonly Stored<Rollout>[], askedIn: Rounds['askedIn']): Group {
  const { question } = rollouts[0]!.value;
  const when = askedIn(question);
  return groupOf({ when, question, scored: null, rollouts, selected: null, batch: null });
}
