/**
 * Recomputation: a part of the network whose inner values are not kept for its gradient but computed a second
 * time.
 *
 * Memory for time: of such a part only what goes in is kept. The second computation has the same nodes as the
 * first and so the same bits. It starts from the input plus 0 * (an element of the gradient), which ties it
 * to the gradient's arrival: the runtime can neither merge it with the first nor run it early. (Where the
 * gradient is not finite, what follows is not finite either, and the step is skipped as it would have been.)
 */
import { pullBack } from './gradients.ts';
import type { Derivation, Value } from './graph.ts';

/**
 * `body(x)`, computed a second time for its gradient. It may use `leaves`, whose gradients are passed on.
 */
export function recomputed(x: Value, leaves: readonly Value[], body: (x: Value) => Value): Value {
  const { graph } = x;
  const first = graph.aside(() => body(x));
  const inputs = [x, ...leaves.filter((leaf) => uses(first.derivations, leaf))];
  return graph.derive(first.value, inputs, (g) => {
    const copy = after(x, g);
    const second = graph.aside(() => body(copy));
    const pulled = pullBack(second.derivations, second.value, g, [copy, ...inputs.slice(1)]);
    const [dx, ...rest] = pulled;
    // what was recomputed is needed no longer once all gradients are there; so they come before the next
    // part's
    return dx ? [after(dx, ...rest.filter((part) => part !== null)), ...rest] : pulled;
  });
}

/** x, but not before `others` have been computed. */
export function after(x: Value, ...others: readonly Value[]): Value {
  const { graph } = x;
  const nothings = others.map((other) => {
    const flat = graph.node('Reshape', [other, graph.integers([-1])], ['all']);
    const element = graph.node('Gather', [flat, graph.integers([0])], [1]);
    return graph.node('Mul', [element, graph.scalar(0)], [1]);
  });
  const [first, ...rest] = nothings;
  if (first === undefined) return x;
  const nothing = rest.reduce((sum, next) => graph.node('Add', [sum, next], [1]), first);
  return graph.node('Add', [x, nothing], x.shape);
}

function uses(derivations: readonly Derivation[], leaf: Value): boolean {
  return derivations.some(({ inputs }) => inputs.some(({ name }) => name === leaf.name));
}
