/**
 * `inCallOrder`: lets calls of an asynchronous function overlap and returns their results in the order of the
 * calls.
 *
 * For use inside `mapEach`, whose concurrency is the bound: an early result waits for those before it. A call
 * that fails rejects at once.
 */
export function inCallOrder<In extends readonly unknown[], Out>(
  fn: (...given: In) => Promise<Out>,
): (...given: In) => Promise<Out> {
  let before: Promise<unknown> = Promise.resolve();
  return (...given) => {
    const result = Promise.all([fn(...given), before]).then(([own]) => own);
    before = result.catch(() => undefined);
    return result;
  };
}
