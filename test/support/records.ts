/** Builders of valid records: minimal ones, and full ones with every field set to something telling. */
import type * as r from '../../topics/index.ts';

export function question(over: Partial<r.Question> = {}): r.Question {
  return {
    id: 'q1',
    question: 'How many?',
    answers: ['7'],
    source: 'test',
    ability: 'math',
    phase: 'explore',
    round: 0,
    schedule: null,
    ...over,
  };
}

export function rollout(over: Partial<r.Rollout> = {}): r.Rollout {
  return {
    id: 'q1/explore-0/0',
    question: question(),
    index: 0,
    groupSize: 1,
    seed: 0,
    prompt: new Int32Array(0),
    tokens: new Int32Array(0),
    logProbs: new Float32Array(0),
    segments: [],
    text: '',
    toolCalls: 0,
    parent: null,
    version: 0,
    status: 'done',
    finish: 'answer',
    reason: '',
    startedMs: 0,
    endedMs: 0,
    episode: null,
    ...over,
  };
}

export function toolCall(over: Partial<r.ToolCall> = {}): r.ToolCall {
  return {
    rolloutId: 'q1/explore-0/0',
    questionId: 'q1',
    turn: 0,
    tool: 'search',
    input: '',
    output: '',
    ok: true,
    attempts: 1,
    cached: false,
    ms: 0,
    ...over,
  };
}

export function deadLetter(over: Partial<r.DeadLetter> = {}): r.DeadLetter {
  return { origin: 'rows', place: 1, key: 'k', field: '', reason: 'bad', payload: '', ...over };
}

export function metric(over: Partial<r.Metric> = {}): r.Metric {
  return { name: 'm', step: 0, round: 0, value: 0, atMs: 0, ...over };
}

export function batch(over: Partial<r.Batch> = {}): r.Batch {
  return {
    step: 0,
    round: 0,
    version: 0,
    groups: [],
    last: false,
    kind: 'policy',
    examples: [],
    heldOut: [],
    index: 0,
    of: 0,
    ...over,
  };
}

/** One full and one minimal record of every topic, under the topic's key in `topics`. */
export const samples = {
  questions: {
    full: question({
      answers: ['7', 'seven', ''],
      question: 'Wie viele? 🌊',
      ability: 'qa',
      phase: 'practice',
      round: 3,
      schedule: { index: 2, of: 9, version: 4 },
    }),
    minimal: question({ id: '', question: '', answers: [], source: '' }),
  },
  rollouts: {
    full: rollout({
      index: 3,
      groupSize: 8,
      seed: 2 ** 52 + 1,
      prompt: Int32Array.of(1, 2, 151_643),
      tokens: Int32Array.of(-1, 2 ** 31 - 1, 0, 5),
      logProbs: Float32Array.of(-0.5, 0, -Infinity, -1e-30),
      segments: [
        { kind: 'policy', start: 0, end: 2, version: 4, entropy: 1.25, tool: 'search' },
        { kind: 'tool', start: 2, end: 3, version: 4, entropy: null, tool: 'search' },
        { kind: 'policy', start: 3, end: 4, version: 5, entropy: null, tool: null },
      ],
      text: '<search>x</search>',
      toolCalls: 1,
      parent: { index: 1, offset: 2 },
      version: 4,
      status: 'failed',
      finish: 'callLimit',
      reason: 'too many calls',
      startedMs: 1_700_000_000_000.25,
      endedMs: 1_700_000_000_900.5,
      episode: {
        mode: 'repaired',
        actions: [
          {
            kind: 'call',
            start: 0,
            end: 1,
            name: 'get_weather',
            input: '{"city": "Ulm"}',
            response: '{"degrees": 7}',
            ok: true,
            offered: true,
            fault: '',
            turn: 0,
          },
        ],
        folds: [
          {
            at: 1,
            prompt: Int32Array.from([1, 2]),
            dropped: 9,
            episodic: '{"key_events": []}',
            working: '{}',
            tool: '{}',
            madeUp: ['tool'],
          },
        ],
        limits: ['folds'],
      },
    }),
    minimal: rollout(),
  },
  toolCalls: {
    full: {
      rolloutId: 'q1/explore-0/0',
      questionId: 'q1',
      turn: 2,
      tool: 'python',
      input: 'print(1)',
      output: '1\n',
      ok: true,
      attempts: 3,
      cached: true,
      ms: 12.5,
    },
    minimal: {
      rolloutId: '',
      questionId: '',
      turn: 0,
      tool: '',
      input: '',
      output: '',
      ok: false,
      attempts: 0,
      cached: false,
      ms: 0,
    },
  },
  scored: {
    full: {
      question: question(),
      rewards: [
        { score: 1.5, parts: { raw: 1, tool: 0.5 } },
        { score: -1, parts: {} },
      ],
      toolCalls: [1, 0],
      lengths: [400, 20],
      advantages: [1, -1],
      rollouts: [
        { partition: 0, offset: 12 },
        { partition: 3, offset: 2 ** 40 },
      ],
      version: 2,
      actionAdvantages: [0.5, -0.5],
    },
    minimal: {
      question: question(),
      rewards: [],
      toolCalls: [],
      lengths: [],
      advantages: [],
      rollouts: [],
      version: 0,
      actionAdvantages: [],
    },
  },
  selected: {
    full: {
      question: question(),
      objectives: [0.5, 0.25],
      front: 1,
      distance: Infinity,
      kept: true,
      why: 'selected',
      index: 4,
      of: 10,
      version: 7,
      scored: { partition: 0, offset: 9 },
    },
    minimal: {
      question: question(),
      objectives: [],
      front: 0,
      distance: null,
      kept: false,
      why: '',
      index: -1,
      of: 0,
      version: 0,
      scored: { partition: 0, offset: 0 },
    },
  },
  batches: {
    full: {
      step: 3,
      round: 1,
      version: 2,
      groups: [{ questionId: 'q1', scored: { partition: 0, offset: 5 } }],
      last: true,
      kind: 'dpo',
      examples: [{ questionId: 'q1', position: { partition: 0, offset: 7 }, index: 1 }],
      index: 2,
      of: 3,
      heldOut: [{ questionId: 'q2', position: { partition: 0, offset: 9 }, index: 0 }],
    },
    minimal: batch({ step: 1 }),
  },
  weights: {
    full: {
      version: 3,
      parent: 2,
      step: 3,
      roundsDone: 1,
      uri: 'weights/3.safetensors',
      digest: 'ab',
      bytes: 12_345_678_901,
      state: 'weights/3.adamw',
      consumed: { partition: 0, offset: 2 },
      stateDigest: 'cd',
      parentDigest: 'ef',
      controls: 2,
    },
    minimal: {
      version: 0,
      parent: -1,
      step: 0,
      roundsDone: 0,
      uri: '',
      digest: null,
      bytes: 0,
      state: '',
      consumed: null,
      stateDigest: null,
      parentDigest: null,
      controls: 0,
    },
  },
  folds: {
    full: {
      rolloutId: 'q1/explore-0/0',
      questionId: 'q1',
      fold: 1,
      at: 120,
      dropped: 900,
      promptTokens: 300,
      promptDigest: 'ab',
      episodic: '{"key_events": []}',
      working: '{}',
      tool: '{}',
      madeUp: ['tool'],
    } satisfies r.FoldRecord,
    minimal: {
      rolloutId: '',
      questionId: '',
      fold: 0,
      at: 0,
      dropped: 0,
      promptTokens: 0,
      promptDigest: '',
      episodic: '',
      working: '',
      tool: '',
      madeUp: [],
    } satisfies r.FoldRecord,
  },
  windows: {
    full: { round: 3, size: 17, beganMs: 12.5, cutMs: 600012.5, why: 'time' } satisfies r.Window,
    minimal: { round: 0, size: 0, beganMs: 0, cutMs: 0, why: 'full' } satisfies r.Window,
  },
  control: {
    full: {
      id: '1790000000000-4-a1',
      kind: 'set',
      setting: 'temperature',
      value: '0.7',
      by: 'ada@mill',
      askedMs: 12.5,
    } satisfies r.ControlRecord,
    minimal: {
      id: '',
      kind: 'pause',
      setting: '',
      value: '',
      by: '',
      askedMs: 0,
    } satisfies r.ControlRecord,
  },
  metrics: {
    full: metric({ name: 'train/loss', step: 9, round: 2, value: Infinity, atMs: 12.5 }),
    minimal: metric({ value: -0.125 }),
  },
  evolved: {
    full: {
      question: question(),
      round: 2,
      parent: 0,
      action: 'refine',
      correct: true,
      toolCalls: 2,
      text: 'text',
      index: 4,
      of: 7,
      version: 1,
    },
    minimal: {
      question: question(),
      round: 0,
      parent: -1,
      action: '',
      correct: false,
      toolCalls: 0,
      text: '',
      index: 0,
      of: 1,
      version: 0,
    },
  },
  demonstrations: {
    full: {
      question: question(),
      difficulty: 'medium',
      kept: [
        {
          index: 3,
          round: 2,
          action: 'self-correct',
          toolCalls: 1,
          text: '<answer>',
          turns: [
            {
              role: 'assistant',
              text: 'Wait.',
              thinking: 'hm',
              calls: [{ name: 'search', arguments: '{"query": "x"}', id: 'c1' }],
              name: '',
              callId: '',
              learnt: true,
            },
            {
              role: 'tool',
              text: '🌊',
              thinking: '',
              calls: [],
              name: 'search',
              callId: 'c1',
              learnt: false,
            },
          ],
          functions: '[{"name": "search"}]',
        },
      ],
      dropped: [{ index: 0, why: 'wrong answer' }],
      version: 2,
    },
    minimal: { question: question(), difficulty: '', kept: [], dropped: [], version: 0 },
  },
  pairs: {
    full: {
      question: question(),
      difficulty: 'hard',
      pairs: [{ chosen: 'a', rejected: 'b', why: 'fewer calls' }],
      version: 2,
    },
    minimal: { question: question(), difficulty: '', pairs: [], version: 0 },
  },
  deadLetters: {
    full: {
      origin: 'questions.csv',
      place: 17,
      key: 'q1',
      field: 'answers',
      reason: 'is empty',
      payload: 'q1,,',
    },
    minimal: { origin: '', place: 0, key: '', field: '', reason: '', payload: '' },
  },
} as const;
