/**
 * What reads a policy's text takes time in proportion to its length, whatever it holds: a long response that
 * repeats one tag must not hold a stage up. How the time grows is compared, over a span that no noise can
 * bridge.
 */
import { describe, expect, test } from '@jest/globals';
import { lastBoxed } from '../../../base/text/boxed.ts';
import { repeatsCall } from '../../../operators/coldStart/findings.ts';
import { verifyFrom } from '../../../operators/coldStart/hints.ts';
import { splitActions } from '../../../operators/dialect/actions.ts';
import { extractAnswer, firstAnswerBlock } from '../../../operators/dialect/answer.ts';
import { type EncodeOptions, encodeExample } from '../../../operators/dialect/encodeExample.ts';
import { fenceFor, judgeFence } from '../../../operators/dialect/fence.ts';
import { formatFault } from '../../../operators/dialect/format.ts';
import { splitLogs } from '../../../operators/dialect/logs.ts';
import { isPreferenceFormat } from '../../../operators/dialect/preferenceFormat.ts';
import { repairHintPosition } from '../../../operators/dialect/repair.ts';
import {
  countFailedResults,
  resultsFollowCalls,
  withEmptyResults,
} from '../../../operators/dialect/results.ts';
import { numberedSteps } from '../../../operators/dialect/steps.ts';
import { countToolCalls } from '../../../operators/dialect/tags.ts';
import {
  readFaultyStep,
  readRedundancy,
  reopenedWithHint,
  withThinkingTags,
} from '../../../operators/evolve/replies.ts';
import { redundancyVote, saysCorrect } from '../../../operators/metrics/graders/judge.ts';
import { evaluateSample } from '../../../operators/metrics/sample.ts';
import { cutCodePoints, strip, words } from '../../../operators/text/characters.ts';
import { finalAnswerForm } from '../../../operators/text/finalAnswer.ts';
import { isEquivalent, LatexError, latexNormalForm } from '../../../operators/text/latex.ts';
import { rewardF1, rolloutF1 } from '../../../operators/text/overlap.ts';
import { decodePage } from '../../../operators/tools/pages/charset.ts';
import { parseRobots } from '../../../operators/tools/pages/robots.ts';
import { searchCacheKey } from '../../../operators/tools/search/searchTool.ts';
import { priorReasoning } from '../../../operators/tools/web/priorReasoning.ts';
import { pagesText, recordsText } from '../../../operators/tools/web/resultText.ts';
import { finalInformation } from '../../../operators/tools/web/summarise.ts';
import { webLine, webText } from '../../../operators/tools/web/webText.ts';
import type { DatasetFormat } from '../../../sources/datasetFormats.ts';
import { datasetRow } from '../../../sources/datasetRow.ts';
import { paperTools } from '../../support/paperTools.ts';

const LISTS: DatasetFormat = { ability: 'qa', question: ['question'], answer: ['answer'] };

/** A token for each character, by a plain loop: what tokenizers do is not measured here. */
function encodeLetters(text: string): Int32Array {
  const tokens = new Int32Array(text.length);
  for (let i = 0; i < tokens.length; i++) tokens[i] = text.charCodeAt(i);
  return tokens;
}
const LETTERS: EncodeOptions = {
  prompt: encodeLetters,
  results: 'masked',
  tokenizer: {
    vocabSize: 65_536,
    endToken: 0,
    encode: encodeLetters,
    decode: () => '',
    id: () => 0,
  },
};

const PAGE = { title: '', url: '', siteName: '', date: '' };

const FUNCTIONS: Readonly<Record<string, (text: string) => unknown>> = {
  splitActions: (text) => splitActions(text, paperTools),
  'extractAnswer of a rollout': (text) => extractAnswer(text, 'rollout'),
  firstAnswerBlock,
  fence: fenceFor({ tools: paperTools, markers: ['</s>'] }),
  judgeFence,
  withEmptyResults,
  resultsFollowCalls: (text) => resultsFollowCalls(text, paperTools),
  'formatFault of a rollout': (text) => formatFault(text, 'rollout', paperTools),
  'formatFault of a selection': (text) => formatFault(text, 'selection', paperTools),
  isPreferenceFormat: (text) => isPreferenceFormat(text, paperTools),
  repairHintPosition: (text) => repairHintPosition(`${text}<think> Wait.`, ' Wait.'),
  countFailedResults,
  numberedSteps,
  countToolCalls: (text) => countToolCalls(text, paperTools),
  readRedundancy,
  readFaultyStep,
  reopenedWithHint: (text) => reopenedWithHint(text, ' Wait.', 'repaired', paperTools),
  withThinkingTags: (text) => withThinkingTags(text, paperTools),
  verifyFrom: (text) => verifyFrom(`<think>maybe${text}`, ' Wait.', ['maybe']),
  repeatsCall: (text) => repeatsCall(text, paperTools),
  saysCorrect,
  redundancyVote,
  'evaluateSample without an answer': (output) =>
    evaluateSample({
      ability: 'qa',
      output,
      prediction: '',
      references: ['a'],
      tools: paperTools,
    }),
  evaluateSample: (text) =>
    evaluateSample({
      ability: 'math',
      output: text,
      prediction: text,
      references: ['a'],
      tools: paperTools,
    }),
  'lastBoxed of a rollout': (text) => lastBoxed(text, 'rollout'),
  'lastBoxed of a reward': (text) => lastBoxed(text, 'reward'),
  strip,
  words,
  cutCodePoints: (text) => cutCodePoints(text, 9000),
  'isEquivalent in a rollout': (text) => isEquivalent(text, 'a', 'rollout'),
  'isEquivalent in a selection': (text) => isEquivalent(text, 'a', 'selection'),
  rolloutF1: (text) => rolloutF1(text, [text]),
  rewardF1: (text) => rewardF1(text, [text]),
  'latexNormalForm with its texts unwrapped': (text) => {
    try {
      return latexNormalForm(text, 'reward', { unwrapText: true });
    } catch (error) {
      if (error instanceof LatexError) return null;
      throw error;
    }
  },
  finalAnswerForm,
  'priorReasoning of one step': (text) => priorReasoning([text]),
  'priorReasoning of many steps': (text) =>
    priorReasoning(Array(8).fill(text.slice(0, text.length / 8))),
  searchCacheKey,
  'a list of a dataset': (text) =>
    datasetRow(
      { question: 'q', answer: `[${text}` },
      { name: 'a', format: LISTS },
      { place: 1, text: true },
    ),
  webText: (text) => webText(text, Number.POSITIVE_INFINITY),
  webLine: (text) => webLine(text, Number.POSITIVE_INFINITY),
  finalInformation,
  splitLogs: (text) => splitLogs(text, paperTools),
  recordsText: (text) =>
    recordsText(
      [{ title: text, url: '', siteName: '', date: '', snippet: text, context: text }],
      20_000,
    ),
  'pagesText of many snippets': (text) =>
    pagesText(
      (text.match(/.{1,50}/gs) ?? []).map((snippet) => ({ ...PAGE, snippet })),
      { top: 10, charactersMax: 1000 },
    ),
  decodePage: (text) => decodePage(Buffer.from(text), text.slice(0, 2000)),
  parseRobots: (text) => parseRobots(`user-agent: *\n${text}`, 'millrace'),
  encodeExample: (text) => encodeExample('q', text, LETTERS),
};

const TAGS = ['think', 'search', 'python', 'result', 'answer', 'r', 'judgment'];
const COMMANDS = [
  '\\boxed',
  '\\fbox',
  '\\text',
  '\\textbf',
  '\\overline',
  '\\frac',
  '\\sqrt',
  '\\left',
];
const UNITS: readonly string[] = [
  ...TAGS.flatMap((tag) => [`<${tag}>`, `</${tag}>`, `<${tag}></${tag}>`]),
  ...COMMANDS.flatMap((command) => ['', '{', ' ', '1'].map((end) => `${command}${end}`)),
  ...[...'{}$[\'",/=%.1a \n\t\u0085\\'],
  ...[', ', 'a ', 'the ', '1,', '. ', '\\text{ ', '```', '```python', 'maybe'],
  ...['step:', 'step: ', 'analysis:', '<result>\n', ' <result>\n', '<think> '],
  ...['<search>q</search>', '<search>q</search> <result>r</result>'],
];

/** Texts of about so many characters that repeat one thing. */
const grown = (unit: string, characters: number): string =>
  unit.repeat(Math.ceil(characters / unit.length));
const TEXTS: Readonly<Record<string, (characters: number) => string>> = {
  ...Object.fromEntries(UNITS.map((unit) => [unit, (n: number) => grown(unit, n)])),
  ...Object.fromEntries(UNITS.map((unit) => [`${unit} … x`, (n: number) => `${grown(unit, n)}x`])),
  'nested thinking': (n) => grown('<think>', n / 2) + grown('</think>', n / 2),
  'calls that are never answered': (n) => grown('<search>', n / 2) + grown('</search>', n / 2),
  'blanks inside': (n) => `a${grown(' ', n)}b`,
  'commas and a unit': (n) => `1${grown(',', n)}x\\text{ cm}`,
  'many roots in a unit': (n) => `${grown('\\text ', n)}{`,
};

const FEW = 20_000;
const MANY = 4 * FEW;
/**
 * 64 times as long as the short text: work in proportion is 64 times as much, work that grows by the square
 * 4,096 times.
 */
const HUGE = 64 * FEW;
/** Halfway between the two, eight times away from either, so that no noise reaches it. */
const GROWTH_MAX = 512;
/** Who reads a long text in less is not looked at further. */
const QUICK_MS = 20;
/** Less is noise. */
const NOISE_MS = 5;
/** In one piece: `repeat` leaves a rope, which the first who reads it has to join. */
const joined = (text: string): string => Buffer.from(text).toString();
/** Each long text, made once for all functions. */
const LONG = Object.entries(TEXTS).map(([name, text]) => ({
  name,
  of: (characters: number) => joined(text(characters)),
  many: joined(text(MANY)),
}));

describe.each(Object.entries(FUNCTIONS))('%s', (_, read) => {
  test('takes time in proportion to the length of its text', () => {
    const slow = LONG.filter(({ of, many }) => {
      if (leastMs(read, many, QUICK_MS) <= QUICK_MS) return false;
      const bound = GROWTH_MAX * Math.max(NOISE_MS, leastMs(read, of(FEW), NOISE_MS));
      return leastMs(read, of(HUGE), bound) > bound;
    });
    expect(slow.map(({ name }) => name)).toEqual([]);
  });
});

/** The least of three runs, or the first that is quick enough. */
function leastMs(read: (text: string) => unknown, text: string, enoughMs: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3 && least > enoughMs; run++) least = Math.min(least, timeOf(read, text));
  return least;
}

/** Milliseconds of this process's own: what others do on the machine does not count. */
function timeOf(read: (text: string) => unknown, text: string): number {
  const from = process.cpuUsage();
  read(text);
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1000;
}
