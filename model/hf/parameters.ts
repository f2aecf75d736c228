/**
 * Whether the tensors of a checkpoint are the parameters of its decoder: names and shapes, nothing missing,
 * nothing that would be silently ignored.
 */
import { MillraceError, messageOf } from '../../base/index.ts';
import { type DecoderConfig, parameterShapes } from '../config.ts';
import { checkpointError, shapeText } from './checkpointError.ts';

/** Found in old files and computed by us instead; and the head's copy of a shared embedding. */
function ignorable(name: string, config: DecoderConfig): boolean {
  return (
    name.endsWith('.rotary_emb.inv_freq') || (config.tiedEmbeddings && name === 'lm_head.weight')
  );
}

export interface ParameterProblem {
  readonly tensor: string;
  /** Undefined: the decoder has no such parameter. */
  readonly expected: readonly number[] | undefined;
  /** Undefined: the files have no such tensor. */
  readonly found: readonly number[] | undefined;
}

/** Every difference between the decoder's parameters and the existing tensors. Throws `MODEL_CONFIG`. */
export function parameterProblems(
  path: string,
  config: DecoderConfig,
  tensors: ReadonlyMap<string, { readonly shape: readonly number[] }>,
): readonly ParameterProblem[] {
  const expected = shapesOf(path, config);
  const missing = [...expected]
    .map(([tensor, shape]) => ({ tensor, expected: shape, found: tensors.get(tensor)?.shape }))
    .filter(({ expected: shape, found }) => found?.join() !== shape.join());
  const alien = [...tensors]
    .filter(([name]) => !expected.has(name) && !ignorable(name, config))
    .map(([tensor, { shape }]) => ({ tensor, expected: undefined, found: shape }));
  return [...missing, ...alien];
}

function shapesOf(path: string, config: DecoderConfig): ReadonlyMap<string, readonly number[]> {
  try {
    return parameterShapes(config);
  } catch (cause) {
    throw new MillraceError(
      'MODEL_CONFIG',
      `${path}: its configuration does not describe a network: ${messageOf(cause)}`,
      { context: { file: path }, cause },
    );
  }
}

/** One line for a user. */
export function problemText({ tensor, expected, found }: ParameterProblem): string {
  return expected === undefined
    ? `tensor '${tensor}' ${shapeText(found)} is not a parameter of the network that the configuration describes`
    : `tensor '${tensor}' should be ${shapeText(expected)}, not ${found === undefined ? '[missing]' : shapeText(found)}`;
}

/** Throws `CHECKPOINT` for the first problem, and says how many there are. */
export function checkParameters(
  path: string,
  config: DecoderConfig,
  tensors: ReadonlyMap<string, { readonly shape: readonly number[] }>,
): void {
  const [first, ...more] = parameterProblems(path, config, tensors);
  if (first === undefined) return;
  const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
  throw checkpointError(
    `${path}: ${problemText(first)}${others}; configuration and weights do not match`,
    { file: path, ...first },
  );
}
