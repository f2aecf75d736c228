/**
 * Exports the rollouts of a run with their calls to an OpenTelemetry collector, as traces.
 *
 * A collector cannot say how much it has received, so a file in the run's folder records that after each
 * batch it accepted. After a kill in between, a batch is sent again with the same ids, so a store that
 * identifies spans by their ids has each once.
 */
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder, replaceFile } from '../../base/index.ts';
import type { Log, Stored, Topic } from '../../streams/index.ts';
import { type Rollout, type ToolCall, topics } from '../../topics/index.ts';
import { advanced, parseCursor, unread } from '../outside/cursor.ts';
import type { ExportOptions } from '../outside/exportMetrics.ts';
import { gathered } from '../outside/gathered.ts';
import type { Collector } from './collector.ts';
import { type SpanOptions, spansOf } from './spans.ts';

export interface TraceOptions extends SpanOptions {
  readonly collector: Collector;
  /** Path of the file that records how much was sent. */
  readonly kept: string;
}

/** Rollouts per request. */
const ROLLOUTS_MAX = 64;
const WAIT_MS = 500;
/** A rollout and its calls are committed together; on Kafka their times may differ a little. */
const TOGETHER_MS = 5_000;

/** Returns the number of rollouts exported. */
export async function exportTraces(
  { collector, kept, ...options }: TraceOptions,
  { log, clock, over, stop }: Omit<ExportOptions, 'end'>,
): Promise<number> {
  await makeFolder(dirname(kept));
  // If it is missing or damaged, everything is sent again with the same ids.
  let cursor = parseCursor(await readFile(kept, 'utf8').catch(() => ''));
  let count = 0;
  const carry = async (until?: AbortSignal): Promise<void> => {
    const rollouts = unread(log, topics.rollouts, cursor, until);
    for await (const batch of gathered(rollouts, { max: ROLLOUTS_MAX, waitMs: WAIT_MS }, clock)) {
      if (stop.aborted) return;
      const calls = await callsOf(log, batch);
      const models = await bySession(log, topics.calls, batch, ({ call }) => call);
      const mcp = await bySession(log, topics.mcpCalls, batch, ({ number }) => number);
      const spans = batch.map(({ value }) => {
        const { id } = value;
        const agent = { models: models.get(id) ?? [], mcp: mcp.get(id) ?? [] };
        return spansOf(value, calls.get(id) ?? [], options, agent);
      });
      await collector.send(spans, stop);
      cursor = advanced(cursor, batch);
      await replaceFile(kept, JSON.stringify(cursor));
      count += batch.length;
    }
  };
  if (over !== null) await carry(AbortSignal.any([over, stop]));
  if (!stop.aborted) await carry();
  return count;
}

/** The tool calls of these rollouts, by rollout, in order. */
async function callsOf(
  log: Log,
  batch: readonly Stored<Rollout>[],
): Promise<ReadonlyMap<string, readonly ToolCall[]>> {
  const found = new Map<string, ToolCall[]>();
  for (const { value } of batch) if (value.toolCalls > 0) found.set(value.id, []);
  if (found.size === 0) return found;
  const times = batch.map(({ atMs }) => atMs);
  const read = log.tap(topics.toolCalls, {
    from: { kind: 'time', atMs: Math.max(0, Math.min(...times) - TOGETHER_MS) },
    to: { kind: 'time', atMs: Math.max(...times) + TOGETHER_MS },
    follow: false,
    unreadable: () => undefined,
  });
  await read.forEach(({ value }) => void found.get(value.rolloutId)?.push(value));
  for (const calls of found.values()) calls.sort((a, b) => a.turn - b.turn);
  return found;
}

/** The agents' actions behind these rollouts, by rollout, in order. */
async function bySession<T extends { readonly sessionId: string }>(
  log: Log,
  topic: Topic<T>,
  batch: readonly Stored<Rollout>[],
  numberOf: (value: T) => number,
): Promise<ReadonlyMap<string, readonly T[]>> {
  const found = new Map<string, T[]>();
  for (const { value } of batch) if (value.session != null) found.set(value.id, []);
  if (found.size === 0) return found;
  const read = log.tap(topic, {
    from: { kind: 'earliest' },
    follow: false,
    only: { keys: [...found.keys()] },
    unreadable: () => undefined,
  });
  await read.forEach(({ value }) => void found.get(value.sessionId)?.push(value));
  for (const calls of found.values()) calls.sort((a, b) => numberOf(a) - numberOf(b));
  return found;
}
