/**
 * Where two runs diverge, for a page: the first differing record, and in a rollout the first differing token.
 */
import { thousands } from '../../../base/text/index.ts';
import type { Tokenizer } from '../../../model/index.ts';
import type { Log, Stored } from '../../../streams/index.ts';
import { type Compared, divergence, type Reading } from '../../../streams/replay/index.ts';
import { allTopics, type Rollout, topics } from '../../../topics/index.ts';
import type { Divergence, Shown, TokenText } from '../../wire/index.ts';
import { now } from './moment.ts';
import { Search } from './records.ts';
import { refOf } from './refs.ts';
import type { RunView } from './runView.ts';
import { shown } from './shown.ts';

/** Records of both runs together: their ids are held in memory meanwhile. */
const RECORDS_MAX = 400_000;
const VALUE_MAX = 2_000;
const SEARCH_MAX = 100_000;
/** Tokens shown on either side of the difference. */
const AROUND = 80;

type Differs = Extract<Divergence, { state: 'differs' }>;

/** Slow: it takes seconds for tens of thousands of records. */
export async function divergenceOf(a: RunView, b: RunView, reading: Reading): Promise<Divergence> {
  const logs = [a.viewed.log, b.viewed.log] as const;
  if (logs.some(({ standing }) => standing === undefined)) {
    return {
      state: 'failed',
      why: 'Records on Kafka are not compared here; this command compares them:',
    };
  }
  const records = (await recordsIn(logs[0])) + (await recordsIn(logs[1]));
  if (records > RECORDS_MAX) {
    const why = `${thousands(records)} records are more than the ${thousands(RECORDS_MAX)} that are compared here; this command compares them:`;
    return { state: 'failed', why };
  }
  const compared = await divergence(allTopics, ...logs, reading);
  if (compared.divergence === null) {
    const same = Object.values(compared.same).reduce((sum, { equal }) => sum + equal, 0);
    return { state: 'same', records: same };
  }
  return differs(compared, compared.divergence, a, b);
}

async function recordsIn(log: Log): Promise<number> {
  return (await log.stats()).reduce((sum, { records }) => sum + records, 0);
}

async function differs(
  { same }: Compared,
  { difference, moment }: NonNullable<Compared['divergence']>,
  a: RunView,
  b: RunView,
): Promise<Differs> {
  const { topic, id, field, kind, recorded, made, offset } = difference;
  const own = offset === null ? null : { partition: 0, offset };
  // The place in the first run if it has the record, else in the second.
  const inA = kind === 'notRecorded' ? null : own;
  const inB = kind === 'notRecorded' ? own : null;
  const show = (value: unknown): Shown => shown(value, { textMax: VALUE_MAX }).value;
  const isRollout = kind === 'differs' && topic === topics.rollouts.name;
  const first = isRollout && inA !== null ? await rolloutAt(a, inA.offset) : null;
  const second = isRollout ? await rolloutOf(b, id) : null;
  const refB =
    second === null
      ? inB === null
        ? await refOfRecord(b, topic, id, kind !== 'notMadeAgain')
        : refOf(inB)
      : refOf(second.position);
  return {
    state: 'differs',
    topic,
    id,
    field,
    version: Number.isFinite(moment) ? moment : -1,
    a:
      kind === 'notRecorded'
        ? null
        : { ref: inA === null ? null : refOf(inA), value: show(recorded) },
    b: kind === 'notMadeAgain' ? null : { ref: refB, value: show(made) },
    token:
      first === null || second === null
        ? null
        : await tokenOf(first.value, second.value, [
            await a.viewed.tokenizer(),
            await b.viewed.tokenizer(),
          ]),
    same,
  };
}

async function rolloutAt({ viewed }: RunView, offset: number): Promise<Stored<Rollout> | null> {
  const [stored] = await viewed.log.fetch(topics.rollouts, [{ partition: 0, offset }]);
  return stored ?? null;
}

async function rolloutOf({ viewed }: RunView, id: string): Promise<Stored<Rollout> | null> {
  const [, question = id] = /^(.+)\/\w+-\d+\/\d+$/s.exec(id) ?? [];
  const search = new Search(viewed.log, now, SEARCH_MAX);
  const only = { subjects: [question] };
  const found = await search.find(topics.rollouts, only, (rollout) => rollout.id === id);
  return found[0] ?? null;
}

/** By identity: most records have it as their key, or their key begins with their question's. */
async function refOfRecord(
  { viewed }: RunView,
  name: string,
  id: string,
  isThere: boolean,
): Promise<string | null> {
  const topic = allTopics.find((one) => one.name === name);
  if (!isThere || topic === undefined) return null;
  const [question = id] = id.split(/\/\w+-\d+/);
  const search = new Search(viewed.log, now, SEARCH_MAX);
  const only = { keys: [id, question, id.split('#')[0]!] };
  const found = await search.find(topic, only, (value) => topic.identity(value) === id);
  return found[0] === undefined ? null : refOf(found[0].position);
}

async function tokenOf(
  a: Rollout,
  b: Rollout,
  [first, second]: readonly [Tokenizer | null, Tokenizer | null],
): Promise<Differs['token']> {
  const length = Math.max(a.tokens.length, b.tokens.length);
  for (let index = 0; index < length; index++) {
    if (a.tokens[index] === b.tokens[index]) continue;
    return {
      index,
      before: textOf(a.tokens.subarray(Math.max(0, index - AROUND), index), first),
      a: tokenText(a, index, first),
      b: tokenText(b, index, second),
      versionA: versionAt(a, index),
      versionB: versionAt(b, index),
    };
  }
  return null;
}

function tokenText(
  { tokens }: Rollout,
  index: number,
  tokenizer: Tokenizer | null,
): TokenText | null {
  const text = textOf(tokens.subarray(index, index + 1), tokenizer);
  const rest = textOf(tokens.subarray(index + 1, index + 1 + AROUND), tokenizer);
  return text === null || rest === null ? null : { text, rest };
}

function textOf(tokens: Int32Array, tokenizer: Tokenizer | null): string | null {
  if (tokenizer === null) return null;
  try {
    return tokenizer.decode([...tokens]);
  } catch {
    return null;
  }
}

function versionAt({ segments }: Rollout, index: number): number | null {
  return segments.find(({ start, end }) => index >= start && index < end)?.version ?? null;
}
