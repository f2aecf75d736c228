/**
 * The training and scoring graphs: decoder, token log-probs, loss and the gradient of every parameter.
 *
 * Outputs: `logProbs` [M] and `entropies` [M] of the targets; a training graph adds `loss` (scalar) and
 * `gradient:<parameter>`. Parameters are fed under their own names.
 */
import { type DecoderConfig, parameterShapes } from '../config.ts';
import { decoderLogits } from '../decoder.ts';
import type { Loss } from '../engine.ts';
import { gradients } from '../graph/gradients.ts';
import { type Float, Graph, type Value } from '../graph/graph.ts';
import { judgeTokens } from '../graph/layers.ts';
import { clippedPolicyLoss, crossEntropy, policyInputs } from './losses.ts';
import { type PolicyTerms, withTerms } from './policyTerms.ts';
import { preferenceLoss } from './preference.ts';

export const GRADIENT = 'gradient:';

/** What a graph is for. */
export type Purpose = Loss['kind'] | 'score';

const noTerms: PolicyTerms = { kl: null, entropy: false };

/** The ONNX model that trains with this loss, or only scores. A policy loss may have further terms. */
export function trainGraph(
  config: DecoderConfig,
  kind: Purpose,
  float: Float = 'float32',
  terms: PolicyTerms = noTerms,
): Uint8Array {
  const graph = new Graph(float);
  const parameters = new Map<string, Value>();
  for (const [name, shape] of parameterShapes(config))
    parameters.set(name, graph.input(name, float, shape));
  const logits = decoderLogits(graph, config, parameters);
  const targets = graph.input('targets', 'int32', ['M']);
  const judged = judgeTokens(logits, targets);
  graph.output('logProbs', judged.logProbs);
  graph.output('entropies', judged.entropies);
  if (kind !== 'score') {
    const loss = lossOf(kind, judged, terms);
    graph.output('loss', loss);
    const wanted = [...parameters.values()];
    for (const [index, gradient] of gradients(loss, wanted).entries())
      graph.output(`${GRADIENT}${wanted[index]?.name}`, gradient);
  }
  return graph.model();
}

function lossOf(
  kind: Loss['kind'],
  judged: { readonly logProbs: Value; readonly entropies: Value },
  terms: PolicyTerms,
): Value {
  const { logProbs, entropies } = judged;
  if (kind === 'sft') return crossEntropy(logProbs);
  if (kind === 'dpo') return preferenceLoss(logProbs);
  const clipped = clippedPolicyLoss(logProbs, entropies, policyInputs(logProbs));
  return withTerms(clipped, judged, terms);
}
