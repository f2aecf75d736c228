/**
 * Reverse-mode differentiation: adds to a graph the nodes that compute a loss's gradients.
 *
 * Derivations are walked from last to first (the order of the graph is a topological one); only those that a
 * wanted value reaches take part. Gradients of a value that is used several times are added up.
 */
import type { Value } from './graph.ts';
import { add } from './ops.ts';

/** d loss / d value for each of `values`; `loss` is a scalar (rank 0). Throws when one has no influence. */
export function gradients(loss: Value, values: readonly Value[]): readonly Value[] {
  const { graph } = loss;
  const wanted = new Set(values.map((value) => value.name));
  const reached = new Set(wanted);
  for (const { output, inputs } of graph.derivations)
    if (inputs.some((input) => reached.has(input.name))) reached.add(output.name);
  const known = new Map<string, Value>([[loss.name, graph.scalar(1)]]);
  const derivations = [...graph.derivations];
  for (const { output, inputs, pullback } of derivations.reverse()) {
    const gradient = known.get(output.name);
    if (gradient === undefined || !reached.has(output.name)) continue;
    const pulled = pullback(gradient);
    for (const [index, input] of inputs.entries()) {
      const part = pulled[index] ?? null;
      if (part === null || !reached.has(input.name)) continue;
      const before = known.get(input.name);
      known.set(input.name, before === undefined ? part : add(before, part));
    }
  }
  return values.map((value) => {
    const gradient = known.get(value.name);
    if (gradient === undefined) throw new Error(`the loss does not depend on '${value.name}'`);
    return gradient;
  });
}
