/**
 * How the public benchmarks write a question and its answer (ET-Agent §9.2), one format per line.
 *
 * A format says which fields have what and how to take the answer out of its field; checking and
 * stringifying is done once, in `datasetRow.ts`. To add a benchmark, add a line, and its other names to
 * `aliases`.
 */
import { lastBoxed, unwrap } from '../base/text/index.ts';
import type { Ability, Task } from '../topics/index.ts';
import {
  alfWorld,
  apiBank,
  attachment,
  type ReadBenchmark,
  restBench,
  toolBench,
  toolHop,
  webShop,
} from './deepAgentRows.ts';
import type { ImagesFolder } from './inlineImage.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface DatasetFormat {
  readonly ability: Ability;
  /** The possible names of a field; the first one that a row has counts. */
  readonly question: readonly string[];
  readonly answer: readonly string[];
  /** Text put before the question, followed by a space. */
  readonly body?: readonly string[];
  /** Which part of the answer field is the answer; all of it if absent. */
  readonly take?: (answer: unknown) => unknown;
  /** The options of a multiple-choice question, in order; null or empty for an open one. */
  readonly choices?: (fields: Fields) => readonly unknown[] | null;
  /** What else a row has: a line below the question, and its task; null = nothing. */
  readonly attached?: (
    fields: Fields,
    images: ImagesFolder,
  ) => { readonly note: string; readonly task: Task } | null;
  /** The fields of a row, decoded if its file obscures them. */
  readonly open?: (fields: Fields) => Fields;
  /** Reads the whole row, if it has more than a question and its answer. */
  readonly read?: ReadBenchmark;
  /** It may be a folder of conversations, one per file. */
  readonly conversations?: boolean;
}

/** For a benchmark that is scored by its calls or by its environment. */
function scored(read: ReadBenchmark, ...question: readonly string[]): DatasetFormat {
  return { ability: 'qa', question, answer: [], read };
}

/** The options of a CS-Bench row are in fields of their own, and only some rows have options. */
function csbenchChoices(fields: Fields): readonly unknown[] | null {
  if (fields.Format !== 'Multiple-choice') return null;
  return ['A', 'B', 'C', 'D'].map((letter) => fields[letter]);
}

/** The answer field contains no answer; the message says why. */
export class NoAnswer extends Error {}

/** A worked solution ends in `#### ` and the number; its thousands commas go. */
function afterHashes(answer: unknown): unknown {
  if (typeof answer !== 'string') return answer;
  const at = answer.lastIndexOf('####');
  if (at < 0) throw new NoAnswer('has no #### before the number');
  return answer
    .slice(at + '####'.length)
    .replaceAll(',', '')
    .trim();
}

/** The content of the last box of a worked solution, or the solution itself if it has none. */
function boxedOrWhole(answer: unknown): unknown {
  if (typeof answer !== 'string') return answer;
  return unwrap(lastBoxed(answer, 'rollout') ?? '', '\\boxed{') || answer;
}

function beforeParenthesis(answer: unknown): unknown {
  return typeof answer === 'string' ? answer.split(' (', 1)[0] : answer;
}

function first(answer: unknown): unknown {
  return Array.isArray(answer) ? answer[0] : answer;
}

/**
 * xbench hides its text from crawlers: base64 of the UTF-8 bytes, XORed with the repeated `canary` of the
 * row. Rows that someone has already decoded are read as they are.
 */
function withoutCanary(fields: Fields): Fields {
  const { canary, prompt, answer } = fields;
  if (typeof canary !== 'string' || canary === '') return fields;
  const question = opened(prompt, canary);
  return question === null
    ? fields
    : { ...fields, prompt: question, answer: opened(answer, canary) };
}

function opened(text: unknown, canary: string): string | null {
  if (typeof text !== 'string' || !/^[A-Za-z\d+/]+={0,2}$/.test(text)) return null;
  const key = Buffer.from(canary);
  const bytes = Buffer.from(text, 'base64').map((byte, i) => byte ^ key[i % key.length]!);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

const math = { ability: 'math', question: ['question'], answer: ['answer'] } as const;
const knowledge = { ability: 'qa', question: ['question'], answer: ['answer'] } as const;
const either = { ...math, question: ['question', 'problem'] } as const;
const withBody = {
  ability: 'math',
  body: ['body', 'Body'],
  question: ['question', 'Question'],
  answer: ['answer', 'Answer'],
} as const;

export const datasetFormats = {
  aime: either,
  amc23: either,
  tabmwp: either,
  gaokao2023en: either,
  college_math: either,
  gsm8k: { ...either, take: afterHashes },
  svamp: withBody,
  asdiv: { ...withBody, take: beforeParenthesis },
  mawps: { ability: 'math', question: ['input'], answer: ['target'] },
  carp_en: { ability: 'math', question: ['content'], answer: ['answer'] },
  minerva_math: {
    ability: 'math',
    question: ['problem'],
    answer: ['solution'],
    take: boxedOrWhole,
  },
  olympiadbench: { ...math, answer: ['final_answer'], take: first },
  math: {
    ...math,
    question: ['problem', 'question'],
    answer: ['answer', 'solution'],
    take: boxedOrWhole,
  },
  math500: either,
  gaia: {
    ...knowledge,
    question: ['Question', 'question', 'query'],
    answer: ['answer', 'Final answer'],
    attached: attachment('file_name'),
  },
  csbench: { ability: 'qa', question: ['Question'], answer: ['Answer'], choices: csbenchChoices },
  mmlu_pro: { ...knowledge, choices: ({ options }) => options as readonly unknown[] },
  '2wiki': knowledge,
  hotpotqa: knowledge,
  musique: knowledge,
  bamboogle: { ...knowledge, question: ['question', 'Question'], answer: ['answer', 'Answer'] },
  gpqa: { ...knowledge, question: ['question', 'Question'], answer: ['answer', 'Correct Answer'] },
  simpleqa: { ...knowledge, question: ['question', 'problem'] },
  webwalker: knowledge,
  xbench: { ...knowledge, question: ['question', 'prompt'], open: withoutCanary },
  hle: {
    ...knowledge,
    question: ['question', 'Question', 'query'],
    attached: attachment('image'),
  },
  toolbench: scored(toolBench, 'query'),
  api_bank: { ...scored(apiBank), conversations: true },
  tmdb: scored(restBench, 'query'),
  spotify: scored(restBench, 'query'),
  toolhop: scored(toolHop, 'question'),
  alfworld: scored(alfWorld, 'goal'),
  webshop: scored(webShop),
} as const satisfies Readonly<Record<string, DatasetFormat>>;

export type DatasetName = keyof typeof datasetFormats;

/** Other ways to write a name; separators do not count. */
const aliases: Readonly<Record<string, DatasetName>> = {
  '2wikimultihopqa': '2wiki',
  '2wikimqa': '2wiki',
  '2wikiqa': '2wiki',
  hotpot: 'hotpotqa',
  musiqueans: 'musique',
  webwalkerqa: 'webwalker',
  xbenchdeepsearch: 'xbench',
  deepsearch: 'xbench',
  olympiad: 'olympiadbench',
  minerva: 'minerva_math',
  mathtest: 'math',
  amc: 'amc23',
  g1instruction: 'toolbench',
  g2instruction: 'toolbench',
  g3instruction: 'toolbench',
  level3: 'api_bank',
  level1givendesce2e: 'api_bank',
  restbenchtmdb: 'tmdb',
  restbenchspotify: 'spotify',
};

const letters = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]+/g, '');

const named = new Map<string, DatasetName>([
  ...Object.keys(datasetFormats).map((name) => [letters(name), name as DatasetName] as const),
  ...Object.entries(aliases),
]);

/** A dataset named by a file or folder: its own name, and its format. */
export interface NamedFormat {
  /** The label of its questions (`aime25`, for example, although all AIMEs share a format). */
  readonly name: string;
  readonly format: DatasetFormat;
}

/**
 * The format that the name of a file or folder (without extension) implies, or null. The name may continue
 * after a separator (`gsm8k-test`, `hotpot_qa_500`); an AIME is recognised anywhere in it.
 */
export function formatNamed(name: string): NamedFormat | null {
  const lower = name.toLowerCase();
  const aime = /(?<![a-z])aime[^a-z0-9]*(\d*)/.exec(lower);
  if (aime !== null) return { name: `aime${aime[1]}`, format: datasetFormats.aime };
  const parts = lower.split(/[^a-z0-9]+/).filter((part) => part !== '');
  for (let count = parts.length; count > 0; count--) {
    const found = named.get(parts.slice(0, count).join(''));
    if (found !== undefined) return { name: found, format: datasetFormats[found] };
  }
  return null;
}
