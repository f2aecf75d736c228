/**
 * Everything that a GPU is to be measured for, by one command: `npm run bench:gpu [-- --write]`.
 *
 * 1. ONNX Runtime's providers against its CPU and against PyTorch on the same GPU: self-test, generated and
 *    trained tokens a second of a random checkpoint shaped like Qwen2.5-0.5B.
 * 2. A vLLM of this machine with such a checkpoint, driven by our engine, against its own benchmark; and the
 *    time from published weights to the first token that they made (bench/servers.ts, which is given the
 *    server).
 * 3. Our training service (`trainer/`) on the GPU against a bare PyTorch loop, and its share of the card's
 *    peak.
 *
 * What is missing here leaves its rows unmeasured, with the reason. `--write` puts the table into
 * docs/gpu.md.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVED_AS } from '../scripts/servers/kinds.ts';
import { checkpoint } from './gpu/checkpoint.ts';
import type { Measured, Part, Work } from './gpu/provider.ts';
import { CASES, LARGE, trainerRows } from './gpu/trainerRows.ts';
import { type AnyRow, rates, weightsFolder } from './model/bench.ts';
import { interpreter } from './model/python.ts';
import { trainSequences } from './model/sequences.ts';
import { SHAPES, type ShapeName } from './model/shapes.ts';
import { benchmark, count, someOf } from './options.ts';
import { pause, print, report } from './table.ts';

const PROVIDERS = ['cpu', 'cuda', 'webgpu'] as const;
const PARTS = ['providers', 'servers', 'trainer'] as const;
/** Dense operations a second in bfloat16 by NVIDIA's data sheets, by what the card's name holds. */
const PEAKS: Readonly<Record<string, number>> = {
  H100: 989e12,
  H200: 989e12,
  A100: 312e12,
  L40S: 362e12,
  'RTX 4090': 165e12,
};
const DOC = 'docs/gpu.md';
const MARKS = ['<!-- bench:gpu -->', '<!-- /bench:gpu -->'] as const;
const START_MS = 600_000;

interface Options {
  readonly json: boolean;
  readonly write: boolean;
  readonly quick: boolean;
  readonly only: readonly (typeof PARTS)[number][];
  readonly providers: readonly (typeof PROVIDERS)[number][];
  readonly shape: ShapeName;
  readonly device: string;
  readonly trained: readonly string[];
  readonly turns: number;
  readonly vllm: string;
  readonly vllmArgs: string;
  readonly port: number;
}

const options = benchmark(
  'npm run bench:gpu',
  `Providers of ONNX Runtime against the CPU and PyTorch on the same GPU, a vLLM driven by our engine against its own benchmark, and our training service against a bare PyTorch loop.
PyTorch and transformers are installed from PyPI, once (MILLRACE_PYTHON names an interpreter that has them); vLLM is taken as it is.`,
)
  .option('--write', `put the table into ${DOC}`, false)
  .option('--quick', 'less work and one turn: to see that it runs', false)
  .option('--only <a,b>', `only these parts: some of ${PARTS.join()}`, someOf(PARTS), PARTS)
  .option('--providers <a,b>', 'which providers', someOf(PROVIDERS), PROVIDERS)
  .option('--shape <name>', `of the checkpoint: ${Object.keys(SHAPES).join()}`, '494M')
  .option('--device <name>', 'of PyTorch', 'cuda')
  .option('--trained <a,b>', 'what the training service trains', someOf(CASES), LARGE)
  .option('--turns <n>', 'turns that count; odd', count, 3)
  .option('--vllm <command>', 'the server’s command, its Python beside it', 'vllm')
  .option('--vllm-args <text>', 'more arguments of it, with spaces between', '')
  .option('--port <n>', 'where the server listens', count, 8190)
  .parse()
  .opts<Options>();
const { json, write, quick, only, providers, shape, device, vllm, vllmArgs, port } = options;

const tell = (line: string): void => console.error(line);
const folder = mkdtempSync(join(tmpdir(), 'bench-gpu-'));
const size = quick
  ? { rows: 4, prompt: 16, tokens: 8, trainRows: 2, length: 32, loraRank: 16, turns: 1 }
  : {
      rows: 64,
      prompt: 128,
      tokens: 128,
      trainRows: 8,
      length: 512,
      loraRank: 16,
      turns: options.turns,
    };

type Failed = { readonly reason: string };
interface Torch {
  readonly float32: Measured;
  readonly bfloat16?: Measured;
  readonly name?: string;
}

/** The last line of a program's output, as JSON; or why there is none. */
function lastLine<T>(command: string, args: readonly string[], input = ''): T | Failed {
  const env = { ...process.env, NVIDIA_TF32_OVERRIDE: '0', HF_HUB_OFFLINE: '1' };
  const ran = spawnSync(command, args, { encoding: 'utf8', env, input, maxBuffer: 2 ** 26 });
  const line = ran.stdout?.trim().split('\n').at(-1) ?? '';
  if (line.startsWith('{')) return JSON.parse(line) as T | Failed;
  const lines = ran.stderr?.trim().split('\n') ?? [];
  const said = lines.findLast((one) => /error/i.test(one)) ?? lines.at(-1);
  return {
    reason: ran.signal === null ? said || `exit code ${ran.status}` : `ended by ${ran.signal}`,
  };
}

function measured(provider: (typeof PROVIDERS)[number], path: string): Measured | Failed {
  const threads = availableParallelism();
  const work: Work = { ...size, provider, shape, path, threads };
  return lastLine<Measured>(process.execPath, [
    ...['--import', 'tsx', 'bench/gpu/provider.ts'],
    JSON.stringify(work),
  ]);
}

function torchOn(path: string, python: ReturnType<typeof interpreter>): Torch | Failed {
  if ('reason' in python) return python;
  const sequences = trainSequences(SHAPES[shape], size.trainRows, size.length).map(({ tokens }) =>
    Array.from(tokens),
  );
  const work = JSON.stringify({ ...size, path, device, sequences });
  return lastLine<Torch>(python.path, ['bench/model/yardsticks/gpu.py'], work);
}

/** Their numbers, by what they measure. */
type Sides = Readonly<Record<string, Measured | Failed>>;
const WORKS: Readonly<Record<keyof Measured, string>> = {
  generated: `decode ${shape}, ${size.rows} at once`,
  trained: `train step ${shape} ${size.trainRows}x${size.length}`,
  adapted: `LoRA step ${shape} ${size.trainRows}x${size.length}`,
};

async function providerRows(add: (...rows: AnyRow[]) => void): Promise<void> {
  const python = interpreter(['torch', 'transformers', 'peft']);
  const made = 'path' in python ? checkpoint(shape, { python: python.path, folder }) : python;
  const bench = { quick, folder, turns: size.turns };
  const path = 'path' in made ? made.path : await weightsFolder(bench, shape);
  tell(`PyTorch on ${device} …`);
  const torch = torchOn(path, python);
  const cpu = providers.includes('cpu') ? measured('cpu', path) : { reason: 'not asked for' };
  const bfloat16 = 'reason' in torch ? torch : (torch.bfloat16 ?? { reason: `not on ${device}` });
  const sides: Sides = {
    'our CPU': cpu,
    [`PyTorch on ${device}, float32`]: 'reason' in torch ? torch : torch.float32,
    [`PyTorch on ${device}, bfloat16`]: bfloat16,
  };
  for (const provider of providers) {
    tell(`provider ${provider} …`);
    add(...rowsOf(provider, provider === 'cpu' ? cpu : measured(provider, path), sides));
  }
}

function rowsOf(provider: string, measured: Measured | Failed, sides: Sides): AnyRow[] {
  return Object.entries(WORKS).flatMap(([part, work]) =>
    Object.entries(sides)
      .filter(([against]) => !(provider === 'cpu' && against === 'our CPU'))
      .map(([against, side]): AnyRow => {
        const what = `${work}, ${provider}`;
        const [ours, theirs] = [measured, side].map(
          (one): Part => ('reason' in one ? one : one[part as keyof Measured]),
        ) as [Part, Part];
        if ('reason' in ours) return { what, against, reason: ours.reason.split(';')[0]! };
        if ('reason' in theirs) return { what, against, reason: theirs.reason };
        const apart = Math.abs((ours.loss ?? 0) - (theirs.loss ?? 0));
        const differ = apart > 1e-3 && !against.includes('bfloat16');
        const note = differ ? `LOSSES DIFFER: ${ours.loss} and ${theirs.loss}` : '';
        const both = { ours: ours.speed, theirs: theirs.speed };
        return rates(what, against, both, { unit: 'tokens/s', goal: null, note });
      }),
  );
}

async function serverRows(): Promise<AnyRow[]> {
  const missing = (reason: string): AnyRow[] => [
    { what: 'rollouts through our engine', against: 'vllm bench serve', reason },
    { what: 'weights published to their first token', against: 'one token', reason },
  ];
  const where = spawnSync('which', [vllm], { encoding: 'utf8' }).stdout.trim();
  if (where === '') return missing(`there is no command ${vllm} (--vllm)`);
  const python = readFileSync(where, 'utf8').split('\n')[0]!.replace(/^#!/, '');
  const model = join(folder, 'served');
  const { hiddenSize, layers, heads, kvHeads, intermediateSize, vocabSize } = SHAPES[shape];
  const made = spawnSync(
    python,
    [
      ...['scripts/servers/tinyCheckpoint.py', model, '--hidden', hiddenSize, '--layers', layers],
      ...['--heads', heads, '--kv-heads', kvHeads, '--intermediate', intermediateSize],
      ...['--vocabulary', vocabSize],
    ].map(String),
    { encoding: 'utf8' },
  );
  if (made.status !== 0) return missing(made.stderr.trim().split('\n').at(-1) ?? '');
  tell(`${vllm} serve …`);
  const server = spawn(
    where,
    [
      ...['serve', model, '--served-model-name', SERVED_AS, '--max-model-len', '2048'],
      ...['--enable-lora', '--max-loras', '4', '--max-lora-rank', '64'],
      ...['--generation-config', 'vllm', '--host', '127.0.0.1', '--port', String(port)],
      ...vllmArgs.split(' ').filter((word) => word !== ''),
    ],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...process.env,
        VLLM_ALLOW_RUNTIME_LORA_UPDATING: '1',
        VLLM_SERVER_DEV_MODE: '1',
        VLLM_NO_USAGE_STATS: '1',
        HF_HUB_OFFLINE: '1',
      },
    },
  );
  try {
    const url = `http://127.0.0.1:${port}`;
    if (!(await answers(`${url}/health`, server))) return missing('the server did not come up');
    const against = ['--url', url, '--model', model, '--python', python, '--json'];
    const some = quick ? ['--at-once', '1', '--turns', '1', '--tokens', '8'] : [];
    const rows = lastLine<{ readonly rows: AnyRow[] }>(process.execPath, [
      ...['--import', 'tsx', 'bench/servers.ts', ...against, ...some],
    ]);
    return 'reason' in rows ? missing(rows.reason) : [...rows.rows];
  } finally {
    await ended(server);
  }
}

async function answers(url: string, server: ChildProcess): Promise<boolean> {
  for (const end = performance.now() + START_MS; performance.now() < end; await pause(1000)) {
    if (server.exitCode !== null) return false;
    const reply = await fetch(url).catch(() => null);
    if (reply?.ok) return true;
  }
  return false;
}

async function ended(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const gone = once(server, 'exit');
  server.kill('SIGTERM');
  await Promise.race([gone, pause(30_000).then(() => server.kill('SIGKILL'))]);
}

/** Of this machine's card, if it is a known one. */
function peak(): number | null {
  const asked = ['--query-gpu=name', '--format=csv,noheader'];
  const name = spawnSync('nvidia-smi', asked, { encoding: 'utf8' }).stdout ?? '';
  return Object.entries(PEAKS).find(([part]) => name.includes(part))?.[1] ?? null;
}

function machine(): string {
  const asked = ['--query-gpu=name,memory.total,driver_version', '--format=csv,noheader'];
  const gpu = spawnSync('nvidia-smi', asked, { encoding: 'utf8' });
  const name = gpu.status === 0 ? gpu.stdout.trim().split('\n').join('; ') : 'no NVIDIA GPU';
  return `${name}; ${availableParallelism()} threads of ${cpus()[0]?.model.trim()}; Node ${process.version}`;
}

function said(row: AnyRow): string {
  if ('reason' in row) return `${row.what}, against ${row.against}: ${row.reason}`;
  const { what, against, ours, theirs, ratio, unit } = row;
  const numbers = [ours, theirs, ratio].map((value) => value.toPrecision(4));
  return `${what}: ${numbers[0]} ${unit}; ${against}: ${numbers[1]}; ratio ${numbers[2]}`;
}

function writeTable(text: string): void {
  const [begin, end] = MARKS;
  const doc = readFileSync(DOC, 'utf8');
  const [before, rest] = doc.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined)
    throw new Error(`${DOC} has no ${begin} … ${end}`);
  writeFileSync(DOC, `${before}${begin}\n\n\`\`\`\n${text}\n\`\`\`\n\n${end}${after}`);
  tell(`written to ${DOC}`);
}

try {
  const rows: AnyRow[] = [];
  // long work: what is known is told at once
  const add = (...more: AnyRow[]) => {
    rows.push(...more);
    for (const row of more) tell(`  ${said(row)}`);
  };
  if (only.includes('providers')) await providerRows(add);
  if (only.includes('servers')) add(...(await serverRows()));
  if (only.includes('trainer')) {
    const more = { folder, turns: size.turns, peak: peak(), quick, tell };
    await trainerRows(options.trained, { device, add, ...more });
  }
  const on = machine();
  if (!json) console.log(on);
  print('GPU', rows, json);
  if (write) writeTable(`${on}\n${report('GPU', rows, false)}`.trim());
} finally {
  rmSync(folder, { recursive: true, force: true });
}
