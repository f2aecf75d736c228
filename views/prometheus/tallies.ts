/**
 * What is counted of the records of a run while it is followed: rollouts, tokens, tool calls, verdicts, and the newest
 * value of each metric. Bounded: what comes from a record and may be anything (tools, names of metrics) is counted for the
 * first so many names, the rest together.
 */
import type { Metric, Rollout, Selected, ToolCall, Weights } from '../../streams/records.ts';
import { Histogram, type Page } from './exposition.ts';
import { runFamilies as f } from './families.ts';

const TOOLS_MAX = 32;
const METRICS_MAX = 200;
const OTHER = 'other';

const finishes = ['answer', 'stop', 'length', 'callLimit', 'failed', 'cancelled'] as const;
const kinds = ['prompt', 'policy', 'tool'] as const;
const verdicts = ['selected', 'dominated', 'crowded', 'uniform', OTHER] as const;
const outcomes = ['ok', 'error', 'cached'] as const;
const ROLLOUT_SECONDS = [0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1800];
const TURNS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32];
const TOOL_SECONDS = [0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60];

class Counts<Name extends string> {
  readonly #counts: Map<Name, number>;

  constructor(names: readonly Name[]) {
    this.#counts = new Map(names.map((name) => [name, 0]));
  }

  add(name: Name, by = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + by);
  }

  [Symbol.iterator](): IterableIterator<[Name, number]> {
    return this.#counts.entries();
  }
}

interface ToolTally {
  readonly outcomes: Counts<(typeof outcomes)[number]>;
  readonly seconds: Histogram;
}

export class Tallies {
  readonly #rollouts = new Counts(finishes);
  readonly #tokens = new Counts(kinds);
  readonly #verdicts = new Counts(verdicts);
  readonly #tools = new Map<string, ToolTally>();
  readonly #metrics = new Map<string, number>();
  readonly #leftOut = new Set<string>();
  readonly #rolloutSeconds = new Histogram(ROLLOUT_SECONDS);
  readonly #turns = new Histogram(TURNS);
  #trainMs = 0;
  #weights: { readonly version: number; readonly step: number; readonly atMs: number } | null =
    null;

  rollout({ finish, prompt, segments, startedMs, endedMs }: Rollout): void {
    this.#rollouts.add(finish);
    this.#tokens.add('prompt', prompt.length);
    for (const { kind, start, end } of segments) this.#tokens.add(kind, end - start);
    this.#turns.observe(segments.filter(({ kind }) => kind === 'policy').length);
    this.#rolloutSeconds.observe((endedMs - startedMs) / 1000);
  }

  toolCall({ tool, ok, cached, ms }: ToolCall): void {
    const tally = this.#tool(tool);
    tally.outcomes.add(cached ? 'cached' : ok ? 'ok' : 'error');
    if (!cached) tally.seconds.observe(ms / 1000);
  }

  selected({ why }: Selected): void {
    this.#verdicts.add(verdicts.find((verdict) => verdict === why) ?? OTHER);
  }

  /** `isNew`: written since we follow; only such a one counts as time in the trainer. */
  metric({ name, value }: Metric, isNew: boolean): void {
    if (isNew && name === 'time/train_ms') this.#trainMs += value;
    if (this.#metrics.has(name) || this.#metrics.size < METRICS_MAX) this.#metrics.set(name, value);
    else if (this.#leftOut.size < METRICS_MAX) this.#leftOut.add(name);
  }

  weights({ version, step }: Weights, atMs: number): void {
    this.#weights = { version, step, atMs };
  }

  writeTo(page: Page): void {
    if (this.#weights !== null) {
      page.add(f.version, [], this.#weights.version);
      page.add(f.step, [], this.#weights.step);
      page.add(f.weightsAt, [], this.#weights.atMs / 1000);
    }
    for (const [name, value] of this.#metrics) page.add(f.metric, [name], value);
    page.add(f.metricsLeftOut, [], this.#leftOut.size);
    page.add(f.trainSeconds, [], this.#trainMs / 1000);
    for (const [finish, count] of this.#rollouts) page.add(f.rollouts, [finish], count);
    page.addHistogram(f.rolloutSeconds, [], this.#rolloutSeconds);
    page.addHistogram(f.rolloutTurns, [], this.#turns);
    for (const [kind, count] of this.#tokens) page.add(f.tokens, [kind], count);
    for (const [tool, tally] of this.#tools) {
      for (const [outcome, count] of tally.outcomes) page.add(f.toolCalls, [tool, outcome], count);
      page.addHistogram(f.toolSeconds, [tool], tally.seconds);
    }
    for (const [verdict, count] of this.#verdicts) page.add(f.groups, [verdict], count);
  }

  /** A policy may call tools that there are not, by any name. */
  #tool(given: string): ToolTally {
    const name = this.#tools.has(given) || this.#tools.size < TOOLS_MAX ? given : OTHER;
    const known = this.#tools.get(name);
    if (known !== undefined) return known;
    const tally = { outcomes: new Counts(outcomes), seconds: new Histogram(TOOL_SECONDS) };
    this.#tools.set(name, tally);
    return tally;
  }
}
