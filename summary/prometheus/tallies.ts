/**
 * Counts over a run's records while it is followed: rollouts, tokens, tool calls, verdicts, and the newest
 * value of each metric. Bounded: names that come from records and may be anything (tools, metrics) are
 * counted one by one only up to a limit, the rest together.
 */
import type { Metric, Rollout, Selected, ToolCall, Weights } from '../../topics/index.ts';
import { KeptHistogram, type Page } from './exposition.ts';
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

export class Tallies {
  readonly #rollouts = new Counts(finishes);
  readonly #tokens = new Counts(kinds);
  readonly #verdicts = new Counts(verdicts);
  readonly #tools = new Map<string, Counts<(typeof outcomes)[number]>>();
  readonly #metrics = new Map<string, number>();
  readonly #leftOut = new Set<string>();
  readonly #rolloutSeconds = new KeptHistogram(f.rolloutSeconds, ROLLOUT_SECONDS);
  readonly #turns = new KeptHistogram(f.rolloutTurns, TURNS);
  readonly #toolSeconds = new KeptHistogram(f.toolSeconds, TOOL_SECONDS);
  #trainMs = 0;
  #weights: { readonly version: number; readonly step: number; readonly atMs: number } | null =
    null;

  rollout({ finish, prompt, segments, startedMs, endedMs }: Rollout): void {
    this.#rollouts.add(finish);
    this.#tokens.add('prompt', prompt.length);
    for (const { kind, start, end } of segments) this.#tokens.add(kind, end - start);
    this.#turns.observe([], segments.filter(({ kind }) => kind === 'policy').length);
    this.#rolloutSeconds.observe([], (endedMs - startedMs) / 1000);
  }

  toolCall({ tool, ok, cached, ms }: ToolCall): void {
    const name = this.#toolName(tool);
    this.#tools.get(name)!.add(cached ? 'cached' : ok ? 'ok' : 'error');
    if (!cached) this.#toolSeconds.observe([name], ms / 1000);
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
    page.addKept(this.#rolloutSeconds.metric);
    page.addKept(this.#turns.metric);
    page.addKept(this.#toolSeconds.metric);
    for (const [kind, count] of this.#tokens) page.add(f.tokens, [kind], count);
    for (const [tool, counts] of this.#tools) {
      for (const [outcome, count] of counts) page.add(f.toolCalls, [tool, outcome], count);
    }
    for (const [verdict, count] of this.#verdicts) page.add(f.groups, [verdict], count);
  }

  /** A policy may call tools that do not exist, by any name. */
  #toolName(given: string): string {
    const name = this.#tools.has(given) || this.#tools.size < TOOLS_MAX ? given : OTHER;
    if (!this.#tools.has(name)) this.#tools.set(name, new Counts(outcomes));
    return name;
  }
}
