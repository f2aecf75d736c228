/**
 * How well tools are used, by Tool-Light's measures (§4.6): Efficiency of one method, and Necessity, which
 * compares methods on the same questions.
 */

/** One response: how right it is, and its number of calls. */
export interface UsedTools {
  readonly correct: number;
  readonly toolCalls: number;
}

/** The data sets on which a response without a call counts as one call; on others it is left out. */
const MULTI_HOP: readonly string[] = ['hotpotqa', '2wiki', 'musique', 'bamboogle'];

/**
 * Efficiency: mean correctness per tool call, to four decimals. Null if no response counts.
 */
export function toolLightEfficiency(
  source: string,
  responses: readonly UsedTools[],
): number | null {
  const isMultiHop = MULTI_HOP.includes(source);
  const shares = responses.flatMap(({ correct, toolCalls }) => {
    if (toolCalls > 0) return [correct / toolCalls];
    return isMultiHop ? [correct] : [];
  });
  if (shares.length === 0) return null;
  return fourDecimals(shares.reduce((sum, share) => sum + share, 0) / shares.length);
}

/** A judge's verdict on one response: `failed` = it gave none. */
export interface JudgedUse {
  readonly verdict: 'right' | 'wrong' | 'failed';
  readonly toolCalls: number;
}

/** The value of each if all methods are equal. */
const ALIKE = 0.0001;

/**
 * Necessity of each method, `methods[m][q]` = method m on question q, scaled from 0 to 1 over the methods, to
 * four decimals: on a question that a method did not get wrong, another that got it wrong with fewer calls
 * counts for its calls, one that got it right with fewer calls against them.
 *
 * `quirk` leaves method q out of question q, as released: there it is mistaken for the method itself.
 */
export function toolLightNecessity(
  methods: readonly (readonly JudgedUse[])[],
  { quirk = false }: { readonly quirk?: boolean } = {},
): readonly number[] {
  const scores = methods.map((own) => {
    let points = 0;
    for (const [question, { verdict, toolCalls }] of own.entries()) {
      if (verdict === 'wrong') continue;
      for (const [m, its] of methods.entries()) {
        const other = its[question]!;
        if (other.toolCalls >= toolCalls || (quirk && m === question)) continue;
        points += { wrong: 1, right: -1, failed: 0 }[other.verdict];
      }
    }
    return fourDecimals(points / own.length);
  });
  const [least, most] = [Math.min(...scores), Math.max(...scores)];
  return scores.map((score) =>
    least === most ? ALIKE : fourDecimals((score - least) / (most - least)),
  );
}

/**
 * To the nearest, as Python rounds: a tie (only odd 32nds are exact ones) goes to the even digit, anything
 * else follows the number's decimal form.
 */
function fourDecimals(value: number): number {
  const parts = value * 32;
  if (!Number.isInteger(parts) || parts % 2 === 0) return Number(value.toFixed(4));
  const below = Math.floor(value * 10_000);
  return (below + (below % 2 === 0 ? 0 : 1)) / 10_000;
}
