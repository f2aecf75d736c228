/**
 * How well methods use tools, compared on the same questions (Tool-Light §4.6).
 */

/** One answer of a method: was it right, and with how many calls. */
export interface ToolUseSample {
  readonly correct: number;
  readonly toolCalls: number;
}

/**
 * Mean correctness per call, to four decimals. Samples without a call count as one call when
 * `callFree` is `one`, and are left out when it is `skip`. Throws when nothing is left to average.
 */
export function toolEfficiency(
  samples: readonly ToolUseSample[],
  callFree: 'one' | 'skip',
): number {
  const counted = samples.filter(({ toolCalls }) => toolCalls > 0 || callFree === 'one');
  if (counted.length === 0) throw new Error('no sample with a tool call to average');
  const sum = counted.reduce((total, { correct, toolCalls }) => {
    return total + correct / Math.max(1, toolCalls);
  }, 0);
  return toFourDecimals(sum / counted.length);
}

/** One judged answer of a method. */
export interface JudgedSample {
  readonly verdict: string;
  readonly toolCalls: number;
}

/** When every method scores the same, each gets this. */
const ALL_EQUAL = 0.0001;

/**
 * Whether the calls of each method were needed, scaled from 0 to 1 over the methods, to four decimals.
 *
 * On a question that a method answered, each method that failed with fewer calls counts for its calls, each
 * that succeeded with fewer calls against them; one whose verdict is neither (`Error`) counts nothing.
 * `methods[m][q]` = method m on question q. `mode` `reference` keeps a slip of the published code: on
 * question q it leaves out method q (not the method itself).
 */
export function toolNecessity(
  methods: readonly (readonly JudgedSample[])[],
  mode: 'repaired' | 'reference' = 'repaired',
): number[] {
  const scores = methods.map((samples, own) => {
    const points = samples.map((sample, question) =>
      methods.reduce((sum, other, m) => {
        const isLeftOut = mode === 'repaired' ? m === own : m === question;
        return isLeftOut ? sum : sum + evidence(sample, other[question]!);
      }, 0),
    );
    return toFourDecimals(points.reduce((sum, point) => sum + point, 0) / samples.length);
  });
  const least = Math.min(...scores);
  const most = Math.max(...scores);
  if (least === most) return scores.map(() => ALL_EQUAL);
  return scores.map((score) => toFourDecimals((score - least) / (most - least)));
}

function evidence(own: JudgedSample, other: JudgedSample): number {
  if (own.verdict === 'Incorrect' || other.toolCalls >= own.toolCalls) return 0;
  if (other.verdict === 'Incorrect') return 1;
  return other.verdict === 'Correct' ? -1 : 0; // neither, where the judge failed (`Error`)
}

/** Rounds as Python does: to the nearest, a tie to the even digit. Ties at four decimals are odd 32nds. */
function toFourDecimals(value: number): number {
  const isTie = Number.isInteger(value * 32) && Math.abs(value * 32) % 2 === 1;
  if (!isTie) return Number(value.toFixed(4));
  const lower = Math.floor(value * 10_000);
  return (lower % 2 === 0 ? lower : lower + 1) / 10_000;
}
