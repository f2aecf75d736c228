/** Builders of scored groups and finished rollouts, one line each. */
import { draws } from '../../base/draws.ts';
import type { Question, Reward, Rollout, Scored } from '../../topics/index.ts';
import { question, rollout } from './records.ts';

/** Rewards that are nothing but right (1), wrong (0), or something between. */
export function rewards(raw: readonly number[]): Reward[] {
  return raw.map((value) => ({ score: value, parts: { raw: value, format: 0 } }));
}

export function scored(over: Partial<Scored> & { readonly question: Question }): Scored {
  const count = over.rewards?.length ?? over.toolCalls?.length ?? 1;
  const fill = (value: number): number[] => Array(count).fill(value);
  return {
    rewards: rewards(fill(0)),
    toolCalls: fill(0),
    lengths: fill(10),
    advantages: fill(0),
    actionAdvantages: [],
    rollouts: Array.from({ length: count }, (_, offset) => ({ partition: 0, offset })),
    version: 0,
    ...over,
  };
}

/** The group of a question: `texts[i]` is what rollout i said. */
export function group(asked: Question, texts: readonly string[], version = 0): Rollout[] {
  return texts.map((text, index) =>
    rollout({
      id: `${asked.id}/${asked.phase}-${asked.round}/${index}`,
      question: asked,
      index,
      groupSize: texts.length,
      text,
      version,
      tokens: Int32Array.from({ length: text.length }, (_, i) => i),
      logProbs: new Float32Array(text.length).fill(-1),
      segments: [
        { kind: 'policy', start: 0, end: text.length, version, entropy: null, tool: null },
      ],
    }),
  );
}

/** Practice question number `index` of `of`. */
export function practised(index: number, of: number, over: Partial<Question> = {}): Question {
  return question({
    id: `p${index}`,
    phase: 'practice',
    round: 1,
    schedule: { index, of, version: 0 },
    ...over,
  });
}

export function shuffledBy<T>(items: readonly T[], seed: number): T[] {
  const stream = draws('shuffled-by', seed);
  return items
    .map((item, i) => [stream.uniform(i), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}
