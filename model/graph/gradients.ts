/**
 * Reverse-mode differentiation: adds to a graph the nodes that compute a loss's gradients.
 *
 * Derivations are walked from last to first (the order of the graph is a topological one); only those that a
 * wanted value reaches take part. Gradients of a value that is used several times are added up.
 */
import type { Derivation, Value } from './graph.ts';
import { add } from './ops.ts';

/** d loss / d value for each of `values`; `loss` is a scalar (rank 0). Throws if one has no influence. */
export function gradients(loss: Value, values: readonly Value[]): readonly Value[] {
  const { graph } = loss;
  return pullBack(graph.derivations, loss, graph.scalar(1), values).map((gradient, index) => {
    if (gradient === null)
      throw new Error(`the loss does not depend on '${values[index]?.name ?? index}'`);
    return gradient;
  });
}

/** Propagates `gradient` of `output` back through `derivations` to each of `values`; null if none arrives. */
export function pullBack(
  derivations: readonly Derivation[],
  output: Value,
  gradient: Value,
  values: readonly Value[],
): readonly (Value | null)[] {
  const reached = new Set(values.map((value) => value.name));
  for (const step of derivations)
    if (step.inputs.some((input) => reached.has(input.name))) reached.add(step.output.name);
  const known = new Map<string, Value>([[output.name, gradient]]);
  for (const step of [...derivations].reverse()) {
    const arrived = known.get(step.output.name);
    if (arrived === undefined || !reached.has(step.output.name)) continue;
    const pulled = step.pullback(arrived);
    for (const [index, input] of step.inputs.entries()) {
      const part = pulled[index] ?? null;
      if (part === null || !reached.has(input.name)) continue;
      const before = known.get(input.name);
      known.set(input.name, before === undefined ? part : add(before, part));
    }
  }
  return values.map((value) => known.get(value.name) ?? null);
}
