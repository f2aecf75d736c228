/**
 * `millrace model inspect`: describes a policy or an adapter, tensor by tensor, and what is wrong with it.
 *
 * Every number is read once, for the digest and to find those that are not finite. A problem makes the policy
 * unusable and the exit code 1; a note is merely worth knowing.
 */

import { stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { messageOf } from '../../base/index.ts';
import { jsonText, table } from '../../base/terminal/index.ts';
import { counted, thousands } from '../../base/text/index.ts';
import {
  ADAPTER_CONFIG,
  type LoraAdapter,
  loadAdapterFile,
  openPolicy,
  parameterProblems,
  passOver,
  problemText,
  readAdapter,
} from '../../model/hf/index.ts';
import { type DecoderConfig, headDim, type Tensor } from '../../model/index.ts';
import { loadTokenizer } from '../../model/tokenizers/index.ts';
import { exitCodes } from '../failure.ts';
import type { Io } from '../io.ts';
import { located } from './located.ts';

export interface InspectOptions {
  readonly path: string;
  readonly json?: boolean;
}

interface TensorLine {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly parameters: number;
}

export async function inspectCommand(options: InspectOptions, io: Io): Promise<number> {
  const { path } = await located(resolve(io.cwd, options.path));
  const adapter = await adapterAt(path);
  const found = adapter === null ? await policyReport(path) : adapterReport(path, adapter);
  await io.out(`${options.json === true ? jsonText(found.report) : found.text}\n`);
  return found.problems.length === 0 ? exitCodes.done : exitCodes.failed;
}

/** In PEFT's folder, or in the one file of a run; null = it is a policy, or unreadable. */
async function adapterAt(path: string): Promise<LoraAdapter | null> {
  const isFolder = (await stat(join(path, ADAPTER_CONFIG)).catch(() => null)) !== null;
  if (isFolder) return readAdapter(path);
  return path.endsWith('.safetensors') ? loadAdapterFile(path) : null;
}

interface Found {
  readonly report: unknown;
  readonly text: string;
  readonly problems: readonly string[];
}

async function policyReport(path: string): Promise<Found> {
  const policy = await openPolicy(path, false);
  try {
    const { config, kind, files } = policy;
    const problems = parameterProblems(path, config, policy.tensors).map(problemText);
    const sha256 = await passOver(path, policy, true, (name, tensor) => {
      const count = notNumbers(tensor);
      if (count > 0) problems.push(`tensor '${name}' has ${counted(count, 'non-finite number')}`);
    });
    const tokenizer = kind === 'folder' ? await tokenizerOf(path, config) : null;
    problems.push(...(tokenizer?.problems ?? []));
    const notes = tokenizer?.notes ?? [];
    const tensors = [...policy.tensors].map(
      ([name, { shape, dtype }]): TensorLine => ({ name, shape, dtype, parameters: sizeOf(shape) }),
    );
    const parameters = tensors.reduce((sum, tensor) => sum + tensor.parameters, 0);
    const names = files.map((file) => basename(file.path));
    const dtypes = countOf(tensors.map(({ dtype }) => dtype));
    const report = {
      path,
      kind,
      config,
      parameters,
      dtypes,
      files: names,
      sha256,
      tokenizer,
      notes,
      problems,
      tensors,
    };
    const lines = [
      [
        'policy',
        `${path} (${kind}, ${names.length} ${names.length === 1 ? 'file' : 'files'} of weights)`,
      ],
      ['network', networkText(config)],
      ['parameters', thousands(parameters)],
      [
        'formats',
        Object.entries(dtypes)
          .map(([dtype, count]) => `${dtype} (${counted(count, 'tensor')})`)
          .join(', '),
      ],
      ['tokenizer', tokenizer?.text ?? 'none'],
      ['sha256', sha256],
      ...notes.map((note) => ['note', note]),
    ];
    return { report, problems, text: textOf(lines, problems, tensors) };
  } finally {
    await policy.close();
  }
}

function adapterReport(path: string, adapter: LoraAdapter): Found {
  const tensors = [...adapter.modules].flatMap(([module, { a, b }]) =>
    [a, b].map(
      ({ shape }, i): TensorLine => ({
        name: `${module}.lora_${i === 0 ? 'A' : 'B'}`,
        shape,
        dtype: 'F32',
        parameters: sizeOf(shape),
      }),
    ),
  );
  const problems = [...adapter.modules].flatMap(([module, { a, b }]) => {
    const count = notNumbers(a) + notNumbers(b);
    return count > 0 ? [`module '${module}' has ${counted(count, 'non-finite number')}`] : [];
  });
  const parameters = tensors.reduce((sum, tensor) => sum + tensor.parameters, 0);
  const { modules, ...facts } = adapter;
  const lines = [
    ['adapter', `${path} (LoRA)`],
    ['base', adapter.base === '' ? 'unknown' : adapter.base],
    [
      'rank',
      `${adapter.rank}, alpha ${adapter.alpha}${adapter.stabilised ? ', rank-stabilised' : ''}`,
    ],
    ['modules', String(modules.size)],
    ['parameters', thousands(parameters)],
  ];
  const shown = tensors.map(({ dtype: _, ...tensor }) => tensor);
  const report = { path, kind: 'adapter', ...facts, parameters, problems, tensors: shown };
  return { report, problems, text: textOf(lines, problems, tensors) };
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

function notNumbers({ data }: Tensor): number {
  let count = 0;
  for (let i = 0; i < data.length; i++) if (!Number.isFinite(data[i])) count++;
  return count;
}

function countOf(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

function networkText(config: DecoderConfig): string {
  const { architecture, layers, hiddenSize, heads, kvHeads, intermediateSize, vocabSize } = config;
  const { maxPositions, ropeScaling, tiedEmbeddings } = config;
  const scaling =
    ropeScaling === undefined ? '' : `, ${ropeScaling.kind} positions x${ropeScaling.factor}`;
  return (
    `${architecture}: ${counted(layers, 'layer')} of ${hiddenSize}, ${counted(heads, 'head')} of ${headDim(config)} over ${kvHeads}, ` +
    `feed-forward ${intermediateSize}, ${vocabSize} tokens (${tiedEmbeddings ? 'tied' : 'untied'} head)` +
    `${maxPositions === undefined ? '' : `, ${maxPositions} positions`}${scaling}`
  );
}

interface TokenizerFacts {
  readonly vocabSize: number;
  readonly endTokens: readonly number[];
  readonly chat: boolean;
  /** Notes, which do not keep it from being used. */
  readonly notes: readonly string[];
  readonly problems: readonly string[];
  readonly text: string;
}

/** Null if the folder has none. */
async function tokenizerOf(folder: string, config: DecoderConfig): Promise<TokenizerFacts | null> {
  if ((await stat(join(folder, 'tokenizer.json')).catch(() => null)) === null) return null;
  try {
    const { vocabSize, endTokens, chat, problems: notes } = await loadTokenizer(folder);
    const wide = vocabSize > config.vocabSize;
    const problems = wide
      ? [`the tokenizer has ${vocabSize} tokens but the policy only ${config.vocabSize}`]
      : [];
    const text = `${vocabSize} tokens, end token ${endTokens.join(' or ')}, ${chat ? 'a' : 'no'} chat template`;
    return { vocabSize, endTokens, chat, notes, problems, text };
  } catch (error) {
    const problems = [messageOf(error)];
    return {
      vocabSize: 0,
      endTokens: [],
      chat: false,
      notes: [],
      problems,
      text: 'unusable',
    };
  }
}

function textOf(
  facts: readonly (readonly string[])[],
  problems: readonly string[],
  tensors: readonly TensorLine[],
): string {
  const rows = tensors.map(({ name, shape, dtype, parameters }) => [
    name,
    `[${shape.join(', ')}]`,
    dtype,
    thousands(parameters),
  ]);
  const list = table(
    [['tensor', 'shape', 'format', 'parameters'], ...rows],
    ['left', 'left', 'left', 'right'],
  );
  const wrong =
    problems.length === 0
      ? [['problems', 'none']]
      : problems.map((problem) => ['problem', problem]);
  return `${table([...facts, ...wrong], [])}\n\n${list}`;
}
