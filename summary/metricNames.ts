/** Names in the topic `metrics` that the views read (all of them: docs/metrics.md). */
export const metricNames = {
  reward: 'reward/mean',
  accuracy: 'accuracy/mean',
  toolCalls: 'tools/mean',
  responseLength: 'len/response',
  validFormat: 'format/valid',
  policyLag: 'policy/lag',
  entropy: 'entropy/mean',
  loss: 'loss',
  learningRate: 'lr',
  heldOutLoss: 'heldout/loss',
  examples: 'examples',
  gradientNorm: 'grad_norm',
  clipped: 'clip/fraction',
  klBehaviour: 'kl/behaviour',
  generated: 'thr/gen_tok_s',
  trained: 'thr/train_tok_s',
  trainMs: 'time/train_ms',
  /** 1 = a step of a fine-tuning that had ended: nothing was trained. */
  leftOut: 'step/left_out',
  standstill: 'time/loop_gap_ms',
} as const;

/** Those of an evaluation of held-out questions; all others belong to a training step. */
export function isOfEvaluation(name: string): boolean {
  return name.startsWith('eval/');
}
