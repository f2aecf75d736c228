/** Rollouts and tool calls as traces: what a collector gets, once each, and what it does not get. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import { collector } from '../../../sinks/otlp/collector.ts';
import { exportTraces } from '../../../sinks/otlp/exportTraces.ts';
import { openTelemetry } from '../../../sinks/otlp/packages.ts';
import { spansOf, TEXT_MAX } from '../../../sinks/otlp/spans.ts';
import type { RunAbout } from '../../../sinks/outside/exportMetrics.ts';
import type { Log } from '../../../streams/log.ts';
import { type Rollout, type ToolCall, topics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { freshLog } from '../../support/freshLog.ts';
import { impatientClock } from '../../support/impatientClock.ts';
import { type OtlpReceiver, otlpReceiver } from '../../support/otlpReceiver.ts';
import { rollout, samples } from '../../support/records.ts';

let log: Log;
freshLog((fresh) => {
  log = fresh;
});
let receiver: OtlpReceiver;
let folder: ReturnType<typeof temporaryFolder>;
let told: string[];
beforeEach(async () => {
  receiver = await otlpReceiver();
  folder = temporaryFolder();
  told = [];
});
afterEach(async () => {
  await receiver.close();
  folder.remove();
});

const about: RunAbout = {
  run: 'first',
  job: 'quickstart',
  seed: 7,
  millrace: '0.1.0',
  startedMs: 1_700_000_000_000,
  settings: {},
};
const HOSTILE = '\u001b[2J<script>alert("x")</script>\u202e';
const segment = (kind: 'policy' | 'tool', start: number, end: number) =>
  ({
    kind,
    start,
    end,
    version: 3,
    entropy: null,
    tool: kind === 'tool' ? 'search' : null,
  }) as const;

/** Of a second: 100 policy tokens, a call of 200 ms, 100 tokens, a call of 400 ms that failed. */
function traced(id: string, over: Partial<Rollout> = {}): Rollout {
  return rollout({
    id,
    prompt: new Int32Array(30),
    segments: [
      segment('policy', 0, 100),
      segment('tool', 100, 140),
      segment('policy', 140, 240),
      segment('tool', 240, 250),
    ],
    toolCalls: 2,
    text: HOSTILE.repeat(2000),
    version: 3,
    startedMs: 1_700_000_005_000,
    endedMs: 1_700_000_006_000,
    ...over,
  });
}
function callsOf(rolloutId: string): ToolCall[] {
  const call = {
    ...samples.toolCalls.full,
    rolloutId,
    cached: false,
    input: HOSTILE,
    output: HOSTILE,
  };
  return [
    { ...call, turn: 0, tool: 'search', ok: true, ms: 200 },
    { ...call, turn: 1, tool: `evil\n${'x'.repeat(500)}`, ok: false, ms: 400 },
  ];
}
async function write(...ids: readonly string[]): Promise<void> {
  await log.commit((tx) => {
    for (const id of ids) {
      tx.append(topics.rollouts, traced(id));
      for (const call of callsOf(id).reverse()) tx.append(topics.toolCalls, call);
    }
  });
}

async function carry({ content = false, patienceMs = 1e9 } = {}): Promise<number> {
  const clock = impatientClock();
  const notice = (line: string): void => void told.push(line.replace(receiver.url, 'URL'));
  const to = collector(await openTelemetry(), {
    url: receiver.url,
    about,
    clock,
    notice,
    patienceMs,
  });
  const kept = join(folder.path, 'exports', 'otlp.json');
  return exportTraces(
    { collector: to, kept, about, content },
    { log, clock: sleepClock(systemClock), over: null, stop: new AbortController().signal },
  ).finally(() => to.close());
}

describe('exported traces', () => {
  test('have a span for each model call of an agent, with its own times', async () => {
    const id = 'q1/explore-0/0';
    const asked = { ...samples.calls.full, sessionId: id, stop: ['END'] };
    const { session } = samples.rollouts.full;
    await log.commit((tx) => {
      tx.append(topics.calls, { ...asked, call: 0, parent: -1, join: 'first' });
      tx.append(topics.calls, { ...asked, call: 1, parent: 0 });
      tx.append(topics.calls, { ...asked, sessionId: 'q9/explore-0/0' });
      tx.append(topics.rollouts, traced(id, { session: session ?? null, toolCalls: 0 }));
    });
    expect(await carry({ content: true })).toBe(1);
    const [agent, first, second] = receiver.spans as [
      (typeof receiver.spans)[0],
      (typeof receiver.spans)[0],
      (typeof receiver.spans)[0],
    ];
    expect(receiver.spans).toHaveLength(3);
    expect([first.name, second.name]).toEqual(['chat first@3', 'chat first@3']);
    expect(first.parentSpanId).toBe(agent.spanId);
    expect(first.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.usage.input_tokens': asked.promptTokens,
      'gen_ai.usage.output_tokens': asked.tokens.length,
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.request.stop_sequences': ['END'],
      'millrace.call.join': 'first',
    });
    expect(String(second.attributes['gen_ai.output.messages'])).toContain('It is 7.');
  });

  test('have a span for each MCP tool that an agent called, with its own times unless it ran before', async () => {
    const id = 'q1/explore-0/0';
    const made = traced(id, { session: samples.rollouts.full.session ?? null, toolCalls: 0 });
    const startedMs = made.startedMs + 100;
    const call = { ...samples.mcpCalls.full, sessionId: id, startedMs, endedMs: startedMs + 50 };
    const output = '{"error":{"code":1,"message":"disk is full"}}';
    await log.commit((tx) => {
      tx.append(topics.mcpCalls, { ...call, ranFor: id, number: 1, output });
      tx.append(topics.mcpCalls, { ...call, number: 0, startedMs: 1, endedMs: 9 });
      tx.append(topics.mcpCalls, { ...call, sessionId: 'q9/explore-0/0' });
      tx.append(topics.rollouts, made);
    });
    expect(await carry({ content: true })).toBe(1);
    const [agent, recorded, ran] = receiver.spans as [
      (typeof receiver.spans)[0],
      (typeof receiver.spans)[0],
      (typeof receiver.spans)[0],
    ];
    expect(receiver.spans).toHaveLength(3);
    expect(recorded).toMatchObject({
      ...{ name: 'execute_tool read', parentSpanId: agent.spanId, failed: false },
      ...{ startMs: made.startedMs, endMs: made.startedMs },
      attributes: {
        'gen_ai.tool.type': 'extension',
        'gen_ai.tool.call.arguments': '{"path":"a.txt"}',
        'gen_ai.tool.call.result': '🌊',
        'millrace.mcp.server': 'files',
        'millrace.tool.from_record': true,
      },
    });
    expect(ran).toMatchObject({
      ...{ failed: true, startMs: startedMs, endMs: expect.closeTo(startedMs + 50, 1) },
      attributes: { 'error.type': 'tool_failed', 'gen_ai.tool.call.result': 'disk is full' },
    });
  });

  test('have a span for the agent and one for each call, by the conventions for generative AI', async () => {
    await write('q1/explore-0/0');
    expect(await carry()).toBe(1);
    const [agent, search, evil] = receiver.spans as [
      (typeof receiver.spans)[0],
      (typeof receiver.spans)[0],
      (typeof receiver.spans)[0],
    ];
    expect(agent).toMatchObject({
      name: 'invoke_agent quickstart',
      parentSpanId: '',
      startMs: 1_700_000_005_000,
      endMs: 1_700_000_006_000,
      failed: false,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'quickstart',
        'gen_ai.request.model': 'first@3',
        'gen_ai.usage.input_tokens': 30,
        'gen_ai.usage.output_tokens': 200,
        'gen_ai.response.finish_reasons': ['answer'],
        'millrace.tokens.tool': 50,
      },
    });
    expect(search).toMatchObject({
      name: 'execute_tool search',
      traceId: agent.traceId,
      parentSpanId: agent.spanId,
      failed: false,
      attributes: { 'gen_ai.tool.name': 'search', 'millrace.start.estimated': true },
    });
    // 400 ms were not spent in tools: half of them before each call.
    expect([search.startMs, search.endMs].map((ms) => ms - agent.startMs)).toEqual([200, 400]);
    expect([evil.startMs, evil.endMs].map((ms) => ms - agent.startMs)).toEqual([600, 1000]);
    expect(evil.failed).toBe(true);
    expect(evil.attributes['error.type']).toBe('tool_failed');
    expect(evil.name).toBe(`execute_tool evil ${'x'.repeat(59)}…`);
    expect(receiver.resources[0]).toMatchObject({
      'service.name': 'millrace',
      'millrace.run': 'first',
    });
    expect(receiver.requests[0]).toMatchObject({ path: '/v1/traces' });
    expect(JSON.stringify(receiver.spans)).not.toMatch(/script|u001b|u202e/);
  });

  test('hold texts if asked to, cut to length and without control characters', async () => {
    await write('q1/explore-0/0');
    await carry({ content: true });
    const [agent, search] = receiver.spans as [
      (typeof receiver.spans)[0],
      (typeof receiver.spans)[0],
    ];
    const [message] = JSON.parse(agent.attributes['gen_ai.output.messages'] as string);
    expect(message).toMatchObject({ role: 'assistant', parts: [{ type: 'text' }] });
    expect(message.parts[0].content).toMatch(/^\\u001b\[2J<script>/);
    expect(message.parts[0].content.length).toBeLessThan(TEXT_MAX + 50);
    expect(search.attributes['gen_ai.tool.call.result']).toMatch(/^\\u001b\[2J<script>.*\\u202e$/);
  });

  test('are sent once across restarts, and again under the same ids if that is uncertain', async () => {
    const ids = Array.from({ length: 150 }, (_, n) => `q${n}/explore-0/0`);
    await write(...ids);
    expect(await carry()).toBe(150);
    expect(receiver.spans).toHaveLength(450);
    expect(new Set(receiver.spans.map(({ spanId }) => spanId)).size).toBe(450);
    expect(await carry()).toBe(0);
    await write('q150/explore-0/0');
    expect(await carry()).toBe(1);
    const [file] = readdirSync(join(folder.path, 'exports')) as [string];
    writeFileSync(join(folder.path, 'exports', file), '{');
    expect(await carry()).toBe(151);
    expect(new Set(receiver.spans.map(({ spanId }) => spanId)).size).toBe(453);
  });

  test('wait for a collector that is down, and end if it refuses', async () => {
    await write('q1/explore-0/0');
    receiver.statuses.push(500, 500);
    expect(await carry()).toBe(1);
    expect(told[0]).toMatch(/^the collector at URL does not answer \(.*\); retrying$/);
    expect(told[1]).toBe('the collector at URL answers again');
    await write('q2/explore-0/0');
    receiver.statuses.push(400);
    await expect(carry()).rejects.toMatchObject({ code: 'REFUSED' });
    receiver.statuses.push(...(Array(20).fill(500) as number[]));
    await expect(carry({ patienceMs: 60_000 })).rejects.toMatchObject({ code: 'AWAY' });
    receiver.statuses.length = 0;
    expect(await carry()).toBe(1);
  });
});

test('the trace of a branch links to its parent, and its calls begin after the branch point', () => {
  const options = { about, content: false };
  const parent = spansOf(traced('q1/explore-0/1'), [], options).rollout;
  const branch = traced('q1/explore-0/4', { parent: { index: 1, offset: 140 } });
  const call = { ...callsOf(branch.id)[1]!, ms: 500 };
  const { rollout: span, calls } = spansOf(branch, [call], options);
  expect(span.from).toEqual(parent.id);
  expect(span.id.traceId).not.toBe(parent.id.traceId);
  expect(calls[0]!.startMs - span.startMs).toBe(500);
});

test('spans of calls that overlap or outlast their rollout are kept within it', () => {
  const short = traced('q1/explore-0/0', { endedMs: 1_700_000_005_300 });
  const { rollout: span, calls } = spansOf(short, callsOf(short.id), { about, content: false });
  for (const call of calls) {
    expect(call.startMs).toBeGreaterThanOrEqual(span.startMs);
    expect(call.endMs).toBeLessThanOrEqual(span.endMs);
    expect(call.endMs).toBeGreaterThanOrEqual(call.startMs);
  }
});
