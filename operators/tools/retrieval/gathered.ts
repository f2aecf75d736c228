/**
 * Work in batches without waiting for company: what is asked for while a batch is under way goes together into the next.
 */

interface Waiting<In, Out> {
  readonly item: In;
  readonly resolve: (result: Out) => void;
  readonly reject: (error: unknown) => void;
}

/** Does `work`, which gives a result for each item, on at most `itemsMax` at once; one batch at a time. */
export function gathered<In, Out>(
  work: (items: readonly In[]) => Promise<readonly Out[]>,
  itemsMax: number,
): (item: In, signal: AbortSignal) => Promise<Out> {
  let waiting: Waiting<In, Out>[] = [];
  let busy = false;
  const run = async (): Promise<void> => {
    busy = true;
    while (waiting.length > 0) {
      const batch = waiting.slice(0, itemsMax);
      waiting = waiting.slice(itemsMax);
      try {
        const results = await work(batch.map(({ item }) => item));
        for (const [i, { resolve }] of batch.entries()) resolve(results[i] as Out);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    busy = false;
  };
  return (item, signal) =>
    new Promise<Out>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const leave = (): void => {
        waiting = waiting.filter((other) => other !== mine);
        reject(signal.reason);
      };
      const mine: Waiting<In, Out> = {
        item,
        resolve: (result) => {
          signal.removeEventListener('abort', leave);
          resolve(result);
        },
        reject: (error) => {
          signal.removeEventListener('abort', leave);
          reject(error);
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      waiting.push(mine);
      if (!busy) void run();
    });
}
