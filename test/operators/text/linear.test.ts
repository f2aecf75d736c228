/**
 * What reads a policy's text takes time in proportion to its length, whatever it holds: a response that repeats a tag forty
 * thousand characters long must not hold a stage up. Times are compared with each other alone.
 */
import { describe, expect, test } from '@jest/globals';
import { repeatsCall } from '../../../operators/coldStart/findings.ts';
import { verifyFrom } from '../../../operators/coldStart/hints.ts';
import { splitActions } from '../../../operators/dialect/actions.ts';
import { extractAnswer, firstAnswerBlock } from '../../../operators/dialect/answer.ts';
import { withoutTags } from '../../../operators/dialect/calls.ts';
import { formatFault } from '../../../operators/dialect/format.ts';
import { isPreferenceFormat } from '../../../operators/dialect/preferenceFormat.ts';
import { repairHintPosition } from '../../../operators/dialect/repair.ts';
import { countFailedResults } from '../../../operators/dialect/results.ts';
import { numberedSteps } from '../../../operators/dialect/steps.ts';
import { countToolCalls } from '../../../operators/dialect/tags.ts';
import {
  readFaultyStep,
  readRedundancy,
  reopenedWithHint,
  withThinkingTags,
} from '../../../operators/evolve/replies.ts';
import { redundancyVote, saysCorrect } from '../../../operators/metrics/judge.ts';
import { evaluateSample } from '../../../operators/metrics/sample.ts';
import { lastBoxed } from '../../../operators/text/boxed.ts';
import { cutCodePoints, strip, words } from '../../../operators/text/characters.ts';
import { isEquivalent } from '../../../operators/text/latex.ts';
import { rewardF1, rolloutF1 } from '../../../operators/text/overlap.ts';
import { searchCacheKey } from '../../../operators/tools/search/cacheKey.ts';
import { paperTools } from '../../support/paperTools.ts';

const FUNCTIONS: Readonly<Record<string, (text: string) => unknown>> = {
  splitActions: (text) => splitActions(text, paperTools),
  'extractAnswer of a rollout': (text) => extractAnswer(text, 'rollout'),
  firstAnswerBlock,
  withoutTags: (text) => withoutTags(text, paperTools),
  'formatFault of a rollout': (text) => formatFault(text, 'rollout', paperTools),
  'formatFault of a selection': (text) => formatFault(text, 'selection', paperTools),
  isPreferenceFormat: (text) => isPreferenceFormat(text, paperTools),
  repairHintPosition: (text) => repairHintPosition(`${text}<think> Wait.`, ' Wait.'),
  countFailedResults,
  numberedSteps,
  countToolCalls: (text) => countToolCalls(text, paperTools),
  readRedundancy,
  readFaultyStep,
  reopenedWithHint: (text) => reopenedWithHint(text, ' Wait.', 'clean', paperTools),
  withThinkingTags: (text) => withThinkingTags(text, paperTools),
  verifyFrom: (text) => verifyFrom(`<think>maybe${text}`, ' Wait.', ['maybe']),
  repeatsCall: (text) => repeatsCall(text, paperTools),
  saysCorrect,
  redundancyVote,
  'evaluateSample without an answer': (output) =>
    evaluateSample({
      ...{ ability: 'qa', output, prediction: '' },
      references: ['a'],
      tools: paperTools,
    }),
  evaluateSample: (text) =>
    evaluateSample({
      ...{ ability: 'math', output: text, prediction: text },
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
  searchCacheKey,
};

/** Texts of about so many characters that repeat one thing. */
const tags = ['think', 'search', 'python', 'result', 'answer', 'r', 'judgment'];
const UNITS: readonly string[] = [
  ...tags.flatMap((tag) => [`<${tag}>`, `</${tag}>`, `<${tag}></${tag}>`]),
  ...[
    '\\boxed{',
    '\\boxed ',
    '\\fbox',
    '\\text{',
    '\\text{ ',
    '\\text ',
    '\\textbf{',
    '\\overline{',
  ],
  ...[
    '\\frac',
    '\\frac1',
    '\\sqrt',
    '\\sqrt2',
    '{',
    '}',
    '$',
    '[',
    "'",
    '"',
    ',',
    ', ',
    '/',
    '=',
    '%',
  ],
  ...[
    ' ',
    '\n',
    '\t',
    '\u0085',
    'a',
    'a ',
    'the ',
    '1',
    '1,',
    '.',
    '. ',
    '```python',
    '```',
    '\\',
    '\\left',
  ],
  ...[
    'step: ',
    'step:',
    'analysis:',
    'maybe',
    '<search>q</search>',
    '<search>q</search> <result>r</result>',
  ],
  '<result>\n',
  '<think> ',
];
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
/** Processor time that a compilation or a collection may take. */
const NOISE_MS = 5;

describe.each(Object.entries(FUNCTIONS))('%s', (_, read) => {
  test('takes time in proportion to the length of its text', () => {
    const slow = Object.entries(TEXTS).filter(([, text]) => {
      const [few, many] = [text(FEW), text(4 * FEW)];
      // Four times the length is sixteen times the time where it is quadratic.
      for (let attempt = 0; attempt < 5; attempt++) {
        if (timeOf(read, many) <= 8 * Math.max(NOISE_MS, timeOf(read, few))) return false;
      }
      return true;
    });
    expect(slow.map(([name]) => name)).toEqual([]);
  });
});

/** Milliseconds of this process's own: what others do on the machine does not count. */
function timeOf(read: (text: string) => unknown, text: string): number {
  const from = process.cpuUsage();
  read(text);
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1000;
}
