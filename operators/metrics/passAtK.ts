/**
 * pass@k: the chance that at least one of k responses to a question is right (Chen et al., 2021).
 *
 * Estimated without bias from n >= k responses of which c are right: 1 - C(n - c, k) / C(n, k), computed as a
 * product so that nothing overflows.
 */

/** How many responses a question got and how many of them are right. */
export interface Tries {
  readonly n: number;
  readonly right: number;
}

/** Throws a RangeError unless 1 <= k <= n and 0 <= right <= n, whole numbers. */
export function passAtK({ n, right }: Tries, k: number): number {
  const whole = [n, right, k].every(Number.isInteger);
  if (!whole || k < 1 || k > n || right < 0 || right > n) {
    throw new RangeError(`pass@${k} of ${right} right among ${n}: k must be 1 to ${n}`);
  }
  if (n - right < k) return 1;
  let allWrong = 1;
  for (let i = n - right + 1; i <= n; i++) allWrong *= 1 - k / i;
  return 1 - allWrong;
}

/** The mean over questions; 0 for none. */
export function meanPassAtK(questions: readonly Tries[], k: number): number {
  const sum = questions.reduce((total, tries) => total + passAtK(tries, k), 0);
  return questions.length === 0 ? 0 : sum / questions.length;
}

/** The k that a table shows for n responses: 1, 2, 4, … below n, and n. */
export function passSizes(n: number): number[] {
  const sizes: number[] = [];
  for (let k = 1; k < n; k *= 2) sizes.push(k);
  return n < 1 ? [] : [...sizes, n];
}
