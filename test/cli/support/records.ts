/** Records for tests: complete, with everything that does not matter filled in. */
import type { Metric, Phase, Question, Reward, Rollout, Scored } from '../../../topics/index.ts';

export function question(id: string, phase: Phase = 'explore', round = 0): Question {
  return {
    id,
    question: `What is ${id}?`,
    answers: [id],
    source: 'test',
    ability: 'qa',
    phase,
    round,
    schedule: null,
  };
}

export function rollout(over: Partial<Rollout> & Pick<Rollout, 'question'>): Rollout {
  const { id, phase, round } = over.question;
  return {
    id: `${id}/${phase}-${round}/0`,
    index: 0,
    groupSize: 1,
    seed: 1,
    prompt: Int32Array.from([1, 2, 3]),
    tokens: Int32Array.from({ length: 20 }, (_, n) => n),
    logProbs: new Float32Array(20),
    segments: [{ kind: 'policy', start: 0, end: 20, version: 0, entropy: null, tool: null }],
    text: '<think>so</think><answer>\\boxed{it}</answer>',
    toolCalls: 0,
    parent: null,
    version: 0,
    status: 'done',
    finish: 'answer',
    reason: '',
    startedMs: 0,
    endedMs: 1,
    episode: null,
    ...over,
  };
}

export function reward(raw: number, format = 0, score = raw): Reward {
  return { score, parts: { raw, format } };
}

export function scored(over: Partial<Scored> & Pick<Scored, 'question' | 'rewards'>): Scored {
  const zeros = over.rewards.map(() => 0);
  return {
    toolCalls: zeros,
    lengths: zeros,
    advantages: zeros,
    actionAdvantages: [],
    rollouts: zeros.map(() => ({ partition: 0, offset: 0 })),
    version: 0,
    ...over,
  };
}

export function metric(name: string, step: number, round: number, value: number, atMs = 0): Metric {
  return { name, step, round, value, atMs };
}
