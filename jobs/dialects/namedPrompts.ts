/**
 * The system prompts of the papers' releases by name, for dialect `tags`: the same meaning and the same form
 * (tags, `\boxed{}`, an example call), in our own words. Their texts come with their data; a file with one is
 * `system=FILE`.
 */
import { MillraceError } from '../../base/index.ts';
import type { Declared } from '../../operators/dialect/index.ts';
import type { DialectName } from './dialectOf.ts';

interface Released {
  /** The tools that it explains. */
  readonly tools: readonly string[];
  readonly text: string;
}

const ANSWER =
  'Give the final answer between <answer> and </answer>, with the exact answer in LaTeX form in \\boxed{}: <answer>The final answer is \\[ \\boxed{answer here} \\]</answer>.';
const RESULT = 'What the tool gives is then put between <result> and </result>.';
const SEARCH =
  'To look something up in Wikipedia, write a query between <search> and </search>, for example <search>capital of France</search>.';
const PYTHON =
  'To compute something, write a Python program between <python> and </python> that prints what you need, for example <python>print(3 * 7)</python>.';
const THINK = 'Think step by step between <think> and </think>.';
const AGAIN = 'You may call tools as often as you need while you think.';

const both = [
  'You are a helpful assistant that solves the question step by step, with the help of a Wikipedia search tool and a Python interpreter.',
  ...[THINK, SEARCH, PYTHON, RESULT, AGAIN, ANSWER],
].join('\n');

const prompts = {
  'code-search': { tools: ['python', 'search'], text: both },
  're-search': {
    tools: ['python', 'search'],
    text: [
      both,
      'In order: <think>reasoning</think> <search>query</search> <result>what was found</result> <think>reasoning</think> <python>program</python> <result>what it printed</result> <think>reasoning</think> <answer>answer</answer>.',
    ].join('\n'),
  },
  search: {
    tools: ['search'],
    text: [
      'You are a helpful assistant that solves the question step by step, with the help of a Wikipedia search tool.',
      ...[THINK, SEARCH, RESULT, AGAIN, ANSWER],
    ].join('\n'),
  },
  math: {
    tools: ['python'],
    text: [
      'You are a helpful assistant that solves the mathematical question step by step, with the help of a Python interpreter.',
      ...[THINK, PYTHON, RESULT, AGAIN, ANSWER],
    ].join('\n'),
  },
  base: {
    tools: [],
    text: [
      'You are a helpful assistant that solves the question step by step.',
      THINK,
      ANSWER,
    ].join('\n'),
  },
  'code-search-cn': {
    tools: ['python', 'search'],
    text: [
      '你是一个乐于助人的助手，借助维基百科搜索工具和 Python 解释器，一步一步地解答问题。',
      '请把思考过程写在 <think> 和 </think> 之间。',
      '需要查资料时，把查询写在 <search> 和 </search> 之间，例如 <search>法国的首都</search>。',
      '需要计算时，把会打印结果的 Python 程序写在 <python> 和 </python> 之间，例如 <python>print(3 * 7)</python>。',
      '工具给出的内容随后会放在 <result> 和 </result> 之间。思考时可以按需要多次调用工具。',
      '最后把答案写在 <answer> 和 </answer> 之间，确切的答案以 LaTeX 格式放在 \\boxed{} 中：<answer>最终答案是 \\[ \\boxed{答案} \\]</answer>。',
    ].join('\n'),
  },
} as const satisfies Readonly<Record<string, Released>>;

/** One of `namedPrompts`. */
export type NamedPrompt = keyof typeof prompts;
/** The possible values of the setting `prompt`. */
export const namedPrompts = Object.keys(prompts) as readonly NamedPrompt[];

export function isNamedPrompt(name: string | undefined): name is NamedPrompt {
  return (namedPrompts as readonly (string | undefined)[]).includes(name);
}

/**
 * The prompt's text. Fails with `USAGE` together with `system`, in another dialect, or without a tool that it
 * explains.
 */
export function releasedPrompt(
  name: NamedPrompt,
  asked: {
    readonly name: DialectName;
    readonly system: string;
    readonly tools: readonly Pick<Declared, 'name'>[];
  },
): string {
  const { tools, text }: Released = prompts[name];
  if (asked.system !== '')
    throw usage(`prompt=${name} and system=${asked.system} both set the system prompt: keep one`);
  if (asked.name !== 'tags')
    throw usage(`prompt=${name} explains the papers’ tags, so it needs dialect=tags`);
  const lacking = tools.filter((tool) => !asked.tools.some((own) => own.name === tool));
  if (lacking.length === 0) return text;
  throw usage(
    `prompt=${name} explains ${lacking.join(' and ')}, which the policy does not have: set tools=${tools.join(',')}, or choose another prompt`,
  );
}

function usage(message: string): MillraceError<'USAGE'> {
  return new MillraceError('USAGE', message);
}
