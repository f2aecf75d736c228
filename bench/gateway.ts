/**
 * What the gateway costs between agents and a model server: `npm run bench:gateway`. Needs a build.
 *
 * Agents, gateway and model run in a process each, and only the gateway's is measured: all that it uses is
 * added cost. The model server answers at once, or after a realistic time; everything else is as in a run:
 * protocol, chat template and tokenizer of a real model, call tree, a log on disk.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HostOptions, Opened, Talked, Used } from './gateway/messages.ts';
import { ask, end, started } from './gateway/processes.ts';
import { benchmark, count, counts } from './options.ts';
import { realModel } from './real/realModel.ts';
import { folderOnDisk, median, print, type Row } from './table.ts';

const { json, model, sessions, calls, idle, turns, profile } = benchmark(
  'npm run bench:gateway',
  'Processor time of a model call in the gateway, its throughput beside a model that takes about a second, and the memory of idle sessions. Needs a build.',
)
  .option('--model <FOLDER>', 'whose tokenizer is used; without it, npm run real-model makes one')
  .option('--sessions <N>', 'at the same time', count, 64)
  .option('--calls <numbers>', 'model calls of sessions, in turn', counts, [3, 4, 5, 6, 7, 8])
  .option('--idle <N>', 'idle sessions', count, 1000)
  .option('--turns <n>', 'measurements of the processor time; odd', count, 15)
  .option('--profile <FOLDER>', 'profiles the gateway’s process and measures nothing else')
  .parse()
  .opts<{
    json: boolean;
    model?: string;
    sessions: number;
    calls: readonly number[];
    idle: number;
    turns: number;
    profile?: string;
  }>();

/** A model's time per token; calls ask for 500 to 1,500. */
const TOKEN_MS = 1;
const TEMPLATE = new URL('../test/operators/dialect/fixtures/qwen2.5.jinja', import.meta.url);

interface World {
  readonly host: ChildProcess;
  readonly clients: ChildProcess;
  readonly server: ChildProcess;
}

async function talked(
  { host, clients }: World,
  many = sessions,
  each: readonly number[] = calls,
): Promise<Talked> {
  const opened = await ask<Opened>(host, { kind: 'open', count: many });
  return ask<Talked>(clients, { ...opened, calls: each });
}

/** Processor time of one call. */
async function turn(world: World): Promise<Talked & { readonly cpuMs: number }> {
  const before = await ask<Used>(world.host, { kind: 'used', collect: false });
  const made = await talked(world);
  const { cpuMs } = await ask<Used>(world.host, { kind: 'used', collect: false });
  return { ...made, cpuMs: (cpuMs - before.cpuMs) / made.calls };
}

async function rows(world: World): Promise<Row[]> {
  const { host, server } = world;
  // V8 compiles during the first thousands of calls; a job spends its life after that.
  for (let i = 0; i < 4; i++) await talked(world);
  await ask<Opened>(host, { kind: 'open', count: 0 });
  const before = await ask<Used>(host, { kind: 'used', collect: true });
  await talked(world, idle, [1]);
  const after = await ask<Used>(host, { kind: 'used', collect: true });
  const idleBytes = after.liveBytes - before.liveBytes;
  await ask<Opened>(host, { kind: 'open', count: 0 });

  const made: Awaited<ReturnType<typeof turn>>[] = [];
  for (let i = 0; i < turns; i++) made.push(await turn(world));
  if (profile !== undefined) return [];
  const cpuMs = median(made.map((one) => one.cpuMs));
  const tokens = Math.round(made[0]!.promptTokens / made[0]!.calls);

  await ask(server, { tokenMs: TOKEN_MS });
  const slow = await talked(world);
  const perSecond = (1000 * slow.calls) / slow.ms;
  // The longest session ends last, and alone.
  const limit = (1000 * slow.calls) / (TOKEN_MS * slow.longestTokens);
  return [
    {
      ...{ what: `processor time of a call, ${sessions} sessions`, against: '2 ms', unit: 'ms' },
      ...{ ratio: cpuMs / 2, goal: 1, atMost: true, ours: cpuMs, theirs: 2 },
      note: `${Math.min(...calls)} to ${Math.max(...calls)} calls a session, prompts of ${tokens} tokens on average`,
    },
    {
      what: `calls, ${sessions} sessions`,
      against: 'the model alone, 0.5 to 1.5 s a call',
      ...{ ratio: perSecond / limit, goal: 0.95, unit: 'calls/s', ours: perSecond, theirs: limit },
    },
    {
      ...{ what: `memory of ${idle} idle sessions`, against: '100 MB', unit: 'MB' },
      ...{ ratio: idleBytes / 1e8, goal: 1, atMost: true, ours: idleBytes / 1e6, theirs: 100 },
      note: 'one call each',
    },
  ];
}

const folder = mkdtempSync(join(tmpdir(), 'bench-gateway-'));
const log = folderOnDisk('gateway');
try {
  copyFileSync(
    join(resolve(model ?? realModel()), 'tokenizer.json'),
    join(folder, 'tokenizer.json'),
  );
  copyFileSync(fileURLToPath(TEMPLATE), join(folder, 'chat_template.jinja'));
  const config = { eos_token: '<|im_end|>' };
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(config));
  const server = await started<{ url: string }>('model.ts', [folder]);
  const clients = await started('clients.ts', []);
  const options: HostOptions = { folder, model: server.said.url, servedAs: 'base', log };
  const profiled =
    profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(profile)}`];
  const host = await started('host.ts', [JSON.stringify(options)], ['--expose-gc', ...profiled]);
  const world = { host: host.child, clients: clients.child, server: server.child };
  const measured = await rows(world);
  if (measured.length > 0) print('gateway', measured, json);
  const gone = once(host.child, 'exit');
  host.child.disconnect();
  await gone;
} finally {
  end();
  rmSync(folder, { recursive: true, force: true });
  rmSync(log, { recursive: true, force: true });
}
