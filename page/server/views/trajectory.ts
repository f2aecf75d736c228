/**
 * The data of one rollout: its turns, its tool calls, its reward, its neighbours; and its tokens.
 */

import { MillraceError } from '../../../base/index.ts';
import type { Log, Stored } from '../../../streams/index.ts';
import { asked, type Rollout, type Segment, type ToolCall, topics } from '../../../topics/index.ts';
import type { Call, TrajectoryData, Turn } from '../../wire/index.ts';
import { limits } from '../run/limits.ts';
import type { Moment } from '../run/moment.ts';
import { type Pieces, piecesOf, startsOf } from '../run/pieces.ts';
import { Search } from '../run/records.ts';
import { positionIn, refOf } from '../run/refs.ts';
import { questionFacts, rolloutRow } from '../run/rollouts.ts';
import type { RunView } from '../run/runView.ts';
import { sessionView } from '../run/session.ts';
import { cutText, finite } from '../run/shown.ts';
import { tokensBin } from '../run/tokens.ts';
import type { Asked, ServedView } from './asked.ts';

const SEARCH_MAX = 100_000;
const SURPRISES = 20;

/** The rollout with a ref or an id. Fails with code `NOT_FOUND`. */
export async function rolloutAt(log: Log, moment: Moment, ref: string): Promise<Stored<Rollout>> {
  const position = positionIn(ref);
  if (position !== null) {
    const [stored] = await log.fetch(topics.rollouts, [position]);
    return stored!;
  }
  // `<question id>/<phase>-<round>/<index>`
  const [, question] = /^(.+)\/\w+-\d+\/\d+$/s.exec(ref) ?? [];
  if (question !== undefined) {
    const search = new Search(log, moment, SEARCH_MAX);
    const found = await search.find(
      topics.rollouts,
      { subjects: [question] },
      ({ id }) => id === ref,
    );
    if (found[0] !== undefined) return found[0];
  }
  throw new MillraceError(
    'NOT_FOUND',
    `there is no rollout ${JSON.stringify(ref.slice(0, 200))} in this run`,
  );
}

export async function data(asked: Asked): Promise<TrajectoryData> {
  return (await withTokens(asked)).data;
}

export const other: ServedView['other'] = {
  ending: '/tokens.bin',
  type: 'application/octet-stream',
  body: ({ view, moment, id }) => tokensOf(view, moment, id),
};

/** The data of a rollout, and its tokens in the form that the page loads; null without a tokenizer. */
export async function withTokens({ view, moment, id: ref, query, groupsOf }: Asked): Promise<{
  readonly data: TrajectoryData;
  readonly tokens: () => Uint8Array | null;
}> {
  const { log, name: run } = view.viewed;
  const stored = await rolloutAt(log, moment, ref);
  const rollout = stored.value;
  const { question } = rollout;
  const { askedIn } = await view.rounds();
  const of = { id: question.id, only: asked(question), askedIn };
  const found = await groupsOf(log, moment, of);
  const own = refOf(stored.position);
  const group = found.groups.find(({ rollouts }) => rollouts.some((row) => row.ref === own)) ??
    found.groups[0] ?? {
      ...emptyGroup,
      when: askedIn(question),
      phase: question.phase,
      round: question.round,
    };
  const row = group.rollouts.find((one) => one.ref === own) ?? rolloutRow(stored, null);
  const place = group.rollouts.findIndex((one) => one.ref === own);
  const calls = await callsOf(log, moment, rollout);
  const pieces = await piecesFor(view, rollout);
  const textMax = query.get('full') === '1' ? limits.textFull : limits.textInRecord;
  const neighbours = await neighboursOf(log, moment, group.scored);
  const session = await sessionView(log, moment, rollout, SEARCH_MAX);
  const at = `/r/${encodeURIComponent(run)}`;
  const data: TrajectoryData = {
    ...(await view.frame(
      moment,
      `millrace tap ${run}.${topics.rollouts.name} --from ${stored.position.offset} -n 1`,
    )),
    rollout: { ...row, toolErrors: calls.filter(({ ok }) => !ok).length },
    question: questionFacts(question, textMax),
    group,
    before: group.rollouts[place - 1]?.ref ?? null,
    after: place < 0 ? null : (group.rollouts[place + 1]?.ref ?? null),
    groupBefore: neighbours.before,
    groupAfter: neighbours.after,
    prompt: { tokens: rollout.prompt.length, text: await promptText(view, rollout, textMax) },
    turns: turnsOf(rollout, pieces, calls, textMax),
    facts: {
      seed: rollout.seed,
      startedMs: rollout.startedMs,
      endedMs: rollout.endedMs,
      spans: spansOf(rollout),
      surprises: pieces === null ? [] : surprisesOf(rollout, pieces),
    },
    tokens:
      pieces === null ? null : { href: `${at}/t/${own}/tokens.bin`, count: rollout.tokens.length },
    tokensWhy: pieces === null ? 'the tokenizer of this run is not on this machine' : '',
    record: `${at}/topics/${topics.rollouts.name}?offset=${own}&limit=1`,
    ...(session !== null && { session }),
  };
  return { data, tokens: () => (pieces === null ? null : tokensBin(rollout, pieces)) };
}

const emptyGroup = {
  version: null,
  scored: null,
  rollouts: [],
  size: 0,
  verdict: null,
  batch: null,
} as const;

/** Only its tokens. Fails with code `NOT_FOUND` if the tokenizer is not here. */
async function tokensOf(view: RunView, moment: Moment, ref: string): Promise<Uint8Array> {
  const { value } = await rolloutAt(view.viewed.log, moment, ref);
  const pieces = await piecesFor(view, value);
  if (pieces !== null) return tokensBin(value, pieces);
  throw new MillraceError('NOT_FOUND', 'the tokenizer of this run is not on this machine');
}

async function piecesFor(view: RunView, { tokens }: Rollout): Promise<Pieces | null> {
  const tokenizer = await view.viewed.tokenizer();
  try {
    return tokenizer === null ? null : piecesOf(tokens, tokenizer);
  } catch {
    return null; // another policy's
  }
}

async function promptText(
  view: RunView,
  { prompt }: Rollout,
  textMax: number,
): Promise<TrajectoryData['prompt']['text']> {
  const tokenizer = await view.viewed.tokenizer();
  try {
    return tokenizer === null ? null : cutText(tokenizer.decode(prompt), textMax);
  } catch {
    return null;
  }
}

async function callsOf(log: Log, moment: Moment, { id, toolCalls }: Rollout): Promise<Call[]> {
  if (toolCalls === 0) return [];
  const search = new Search(log, moment, SEARCH_MAX);
  const found = await search.find(
    topics.toolCalls,
    { keys: [id] },
    ({ rolloutId }) => rolloutId === id,
  );
  return found.map(callOf).sort((a, b) => a.turn - b.turn);
}

function callOf({ value, position }: Stored<ToolCall>): Call {
  const { turn, tool, input, output, ok, cached, attempts, ms } = value;
  return {
    ref: refOf(position),
    turn,
    tool,
    input: cutText(input, limits.textInRecord),
    output: cutText(output, limits.textInRecord),
    ok,
    cached,
    attempts,
    ms,
  };
}

/**
 * Without pieces, one turn with the whole text. Calls belong to the tool turns by their numbers; any that are
 * left, to the last turn. A branch has no records of the calls that it copied: its parent made them.
 */
function turnsOf(
  rollout: Rollout,
  pieces: Pieces | null,
  calls: readonly Call[],
  textMax: number,
): Turn[] {
  if (pieces === null) return [wholeTurn(rollout, calls, textMax)];
  const starts = startsOf(pieces.lengths);
  let number = 0;
  const tools = rollout.segments.filter(({ kind }) => kind === 'tool').length;
  let toolTurns = 0;
  return rollout.segments.map((segment, index): Turn => {
    const { kind, start, end, version, entropy, tool } = segment;
    const text = pieces.text.slice(starts[start], starts[end]);
    toolTurns += kind === 'tool' ? 1 : 0;
    const next =
      kind !== 'tool' ? number : toolTurns === tools ? Infinity : number + namesIn(segment);
    const made = calls.filter((call) => call.turn >= number && call.turn < next);
    number = next;
    return {
      index,
      kind,
      start,
      end,
      text: cutText(text, textMax),
      version,
      entropy: finite(entropy),
      logProb: kind === 'policy' ? meanOf(rollout.logProbs.subarray(start, end)) : null,
      tool,
      calls: made,
    };
  });
}

/** A tool turn names its tools, separated by commas. */
function namesIn({ tool }: Segment): number {
  return (tool ?? '').split(',').length;
}

function wholeTurn(rollout: Rollout, calls: readonly Call[], textMax: number): Turn {
  return {
    index: 0,
    kind: 'policy',
    start: 0,
    end: rollout.tokens.length,
    text: cutText(rollout.text, textMax),
    version: rollout.version,
    entropy: null,
    logProb: null,
    tool: null,
    calls,
  };
}

function meanOf(values: Float32Array): number | null {
  return values.length === 0
    ? null
    : finite(values.reduce((sum, value) => sum + value, 0) / values.length);
}

/** Neighbours of one version are one span. */
function spansOf({ segments }: Rollout): TrajectoryData['facts']['spans'] {
  const spans: { start: number; end: number; version: number }[] = [];
  for (const { start, end, version } of segments) {
    const last = spans.at(-1);
    if (last?.version === version) last.end = end;
    else spans.push({ start, end, version });
  }
  return spans;
}

function surprisesOf(
  { segments, logProbs }: Rollout,
  { text, lengths }: Pieces,
): TrajectoryData['facts']['surprises'] {
  const starts = startsOf(lengths);
  const least: { token: number; logProb: number }[] = [];
  for (const { kind, start, end } of segments) {
    if (kind === 'tool') continue;
    for (let token = start; token < end; token++) {
      const logProb = logProbs[token]!;
      if (!Number.isFinite(logProb)) continue;
      if (least.length === SURPRISES && logProb >= least.at(-1)!.logProb) continue;
      const at = least.findIndex((one) => logProb < one.logProb);
      least.splice(at < 0 ? least.length : at, 0, { token, logProb });
      if (least.length > SURPRISES) least.pop();
    }
  }
  return least.map(({ token, logProb }) => {
    return { token, logProb, text: text.slice(starts[token], starts[token + 1]) };
  });
}

/** The first rollouts of the groups scored before and after this one. */
async function neighboursOf(
  log: Log,
  moment: Moment,
  scored: string | null,
): Promise<{ readonly before: string | null; readonly after: string | null }> {
  const position = scored === null ? null : positionIn(scored);
  if (position === null) return { before: null, after: null };
  const at = async (offset: number): Promise<string | null> => {
    if (offset < 0 || offset >= (moment.recordsOf(topics.scored.name) ?? Infinity)) return null;
    const [stored] = await log
      .fetch(topics.scored, [{ partition: position.partition, offset }])
      .catch(() => []);
    const [first] = stored?.value.rollouts ?? [];
    return first === undefined ? null : refOf(first);
  };
  return { before: await at(position.offset - 1), after: await at(position.offset + 1) };
}
