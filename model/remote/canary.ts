/**
 * Whether servers answer with the weights that they were given: each scores fixed sequences of tokens after
 * every publish, and the scores are compared with the trainer's under these weights.
 *
 * A label only says what a server believes. This finds an adapter that was loaded with another scale or
 * not at all, an old version behind a new name, a base model other than the trainer's, versions that move
 * while others are loaded.
 */
import { MillraceError } from '../../base/index.ts';
import { Agreement, type AgreementRule, type Precision, ruleBetween } from '../agreement.ts';
import type { Checkpoint, TrainerEngine } from '../engine.ts';
import type { TokenServers } from './askTokens.ts';
import { checkLost, isForgotten } from './forgotten.ts';
import type { Serving } from './serverWire.ts';

/** What to score after each publish, and how far servers may be from the trainer. */
export interface CanaryOptions {
  /** The sequences: a few hundred ordinary tokens in all. */
  readonly sequences: readonly Int32Array[];
  /**
   * Largest mean difference from the trainer's (nats a token); null = what the arithmetic of both allows
   * (agreement.ts).
   */
  readonly meanMax: number | null;
}

/**
 * The trainer's scores of sequences under these weights: per sequence log-probs (nats) as `Scorer.score`
 * gives them. Null = it cannot say, as it has other weights now.
 */
export type Expected = (
  weights: Checkpoint,
  sequences: readonly Int32Array[],
) => Promise<readonly Float32Array[] | null>;

/** Log-probs of all relevant places of all sequences, in order. */
type Scores = Float64Array;

/** How much numbers scored twice may differ (nats, mean) if the batch affects the rounding. */
const REPEAT_NOISE = 0.02;
/** How far the trainer's numbers must move before a server that did not move is detected (nats, mean). */
const MOVED = 1e-3;

interface Known {
  /** By server, for those that answered. */
  readonly scores: ReadonlyMap<number, Scores>;
}

/** The result of one check: the mean differences from the trainer, by server; null if it could not say. */
export interface CanaryReading {
  readonly gaps: readonly number[] | null;
}

export class Canary {
  readonly #servers: TokenServers;
  readonly #options: CanaryOptions;
  #rule: AgreementRule;
  #agreement: Agreement;
  /** For the weights that servers hold now, by label. */
  readonly #known = new Map<string, Known>();
  #expected: Expected = async () => null;
  #before: { readonly label: string; readonly expected: Scores } | null = null;

  constructor(servers: TokenServers, options: CanaryOptions, precision: Precision) {
    this.#servers = servers;
    this.#options = options;
    this.#rule = { precision, meanMax: options.meanMax };
    this.#agreement = new Agreement(this.#rule);
  }

  /** Says where the right values come from; until then servers are compared only with themselves. */
  expect(expected: Expected, trainer: Pick<TrainerEngine, 'precision'>): void {
    this.#expected = expected;
    const rule = ruleBetween({ agreement: this.#rule }, trainer) ?? this.#rule;
    if (rule.precision !== this.#rule.precision) this.#agreement = new Agreement(rule);
    this.#rule = rule;
  }

  /** Fails with code `WEIGHTS_WRONG` if an available server does not answer as these weights would. */
  async check(weights: Checkpoint, serving: Serving): Promise<CanaryReading> {
    const { sequences } = this.#options;
    const [found, said] = await Promise.all([
      this.#scores(serving),
      this.#expected(weights, sequences),
    ]);
    const expected = said === null ? null : flat(said.map((each) => [...each]));
    const gaps: number[] = [];
    for (const [server, scores] of found) {
      if (expected === null) continue;
      const gap = meanGap(scores, expected);
      gaps.push(gap);
      this.#compare(weights, { server, scores, expected, gap });
    }
    this.#known.set(serving.label, { scores: found });
    if (expected !== null) this.#before = { label: serving.label, expected };
    if (gaps.length > 0) this.#agreement.measured(Math.max(...gaps));
    return { gaps: expected === null ? null : gaps };
  }

  /**
   * Fails with code `WEIGHTS_WRONG` if weights that stayed on the servers next to newer ones give different
   * numbers than before.
   */
  async unmoved(serving: Serving): Promise<void> {
    const before = this.#known.get(serving.label);
    if (before === undefined) return;
    // A server that has lost them is detected by the requests that name them.
    const found = await this.#scores(serving).catch((error: unknown) => {
      if (isForgotten(error)) return new Map<number, Scores>();
      throw error;
    });
    for (const [server, scores] of found) {
      const old = before.scores.get(server);
      const gap = old === undefined ? 0 : meanGap(scores, old);
      if (gap > REPEAT_NOISE)
        throw wrong(
          this.#url(server),
          `changed the log-probs of '${serving.label || 'the base model'}' by ${short(gap)} nats a token when newer weights were loaded beside it`,
        );
    }
  }

  /** These are on no server any more. */
  forget({ label }: Pick<Serving, 'label'>): void {
    this.#known.delete(label);
  }

  #compare(
    { version }: Checkpoint,
    at: { server: number; scores: Scores; expected: Scores; gap: number },
  ): void {
    const { server, scores, expected, gap } = at;
    const before = this.#before;
    const url = this.#url(server);
    if (before !== null) {
      const moved = meanGap(expected, before.expected);
      const held = this.#known.get(before.label)?.scores.get(server);
      const stands = held !== undefined && meanGap(scores, held) === 0 && moved > MOVED;
      // Closer to the previous weights than to its own, and by more than rounding.
      const isOld = moved > 4 * gap && meanGap(scores, before.expected) < gap;
      if (stands || isOld) {
        throw wrong(
          url,
          `still answers with '${before.label || 'the base model'}' after version ${version} was loaded (the trainer's log-probs moved by ${short(moved)} nats a token)`,
        );
      }
    }
    const { meanMax, max, reason } = this.#agreement;
    const peak = maxGap(scores, expected);
    if (gap <= meanMax && peak <= max) return;
    throw wrong(
      url,
      `gives log-probs of version ${version} that differ from the trainer's by ${short(gap)} nats a token, ${short(peak)} at most (allowed: ${short(meanMax)} and ${short(max)}: ${reason})`,
    );
  }

  /** By server; unavailable ones are left out. */
  async #scores(serving: Serving): Promise<Map<number, Scores>> {
    const { pool, wire } = this.#servers;
    const { score } = wire;
    const found = new Map<number, Scores>();
    if (score === undefined) return found;
    await Promise.all(
      pool.urls.map(async (url, server) => {
        const rows: (readonly number[])[] = [];
        for (const sequence of this.#options.sequences) {
          const tokens = [...sequence];
          const { path, body } = score.request(tokens, serving);
          const read = (reply: unknown) => checkedScores(score.read(reply, tokens));
          const result = await pool.askServer(server, path, body, { read });
          if (result.kind === 'down' && result.away) return;
          if (result.kind === 'refused') checkLost(result.reason, wire, serving);
          if (result.kind !== 'answer')
            throw wrong(url, `does not score the tokens of this check: ${result.reason}`);
          rows.push(result.value as readonly number[]);
        }
        found.set(server, flat(rows));
      }),
    );
    return found;
  }

  #url(server: number): string {
    return this.#servers.pool.urls[server] ?? String(server);
  }
}

function checkedScores(scores: readonly number[]): readonly number[] {
  const wrongAt = scores.findIndex((each, place) => place > 0 && !(each <= 1e-3 && each > -1e6));
  if (wrongAt < 0) return scores;
  throw new Error(`the log-prob of prompt token ${wrongAt} is ${scores[wrongAt]}`);
}

/** The first token of a sequence has no log-prob. */
function flat(rows: readonly (readonly number[])[]): Scores {
  return Float64Array.from(rows.flatMap((row) => row.slice(1)));
}

function meanGap(one: Scores, other: Scores): number {
  if (one.length !== other.length || one.length === 0) return Number.NaN;
  return one.reduce((sum, value, i) => sum + Math.abs(value - other[i]!), 0) / one.length;
}

function maxGap(one: Scores, other: Scores): number {
  return one.reduce((most, value, i) => Math.max(most, Math.abs(value - other[i]!)), 0);
}

function wrong(url: string, what: string): MillraceError {
  return new MillraceError(
    'WEIGHTS_WRONG',
    `${url} ${what}. Nothing is generated on it: check that it has the same base model, reads the same disk and loads adapters of this rank`,
    { context: { url } },
  );
}

const short = (value: number): string => value.toPrecision(2);
