/**
 * Engine, trainer and tools of a planned run: each takes as long as the cluster's file and the samples say.
 * Texts contain only as much as the flow needs: a word stands for many tokens.
 */
import type { SleepClock } from '../../base/index.ts';
import type { PolicyEngine, TrainerEngine, TrainSequence } from '../../model/index.ts';
import { type CallTool, callTools } from '../../operators/index.ts';
import { type Phase, rolloutId } from '../../topics/index.ts';
import type { Disk } from '../world/disk.ts';
import { digestOf, filesOf } from '../world/disk.ts';
import { words } from '../world/words.ts';
import type { Meter } from './meter.ts';
import type { Samples } from './samples.ts';
import type { Servers } from './servers.ts';

/** How many tokens a word of the policy or of a tool stands for. */
export interface Scale {
  readonly tokensPerWord: number;
}

interface Common extends Scale {
  readonly clock: SleepClock;
  readonly samples: Samples;
  readonly meter: Meter;
}

const idOf = (text: string): number => words.encode(text)[0]!;
const WORD = idOf('one');
const RESULT = idOf('two');
const CALL = words.encode('<search>three</search>');
const CALL_END = idOf('</search>');

/** Right or wrong answers, drawn alike. */
const ANSWERS = [2, 3].map((sum) => words.encode(`<answer>\\boxed{${sum}}</answer><|end|>`));

export const question = 'What is 1 + 1?';
export const answer = '2';

/** Rounded up or down so that the mean over many rollouts and turns is right. */
function wordsFor(
  tokens: number,
  { tokensPerWord }: Scale,
  [index, turn]: readonly [index: number, turn: number],
): number {
  const part = (GOLDEN * (index + 1) + GOLDEN ** 2 * turn) % 1;
  return Math.floor(tokens / tokensPerWord + part);
}

const GOLDEN = (Math.sqrt(5) - 1) / 2;

export interface EngineOptions extends Common {
  readonly servers: Servers;
  readonly loadSeconds: number;
}

export function plannedEngine(options: EngineOptions): PolicyEngine {
  const { clock, samples, meter, servers, loadSeconds } = options;
  let version = -1;
  let generatedTokens = 0;
  return {
    contextMax: 1 << 24,
    async generate(request, signal) {
      const [, id, phase, round, index] = request.draws as [number, string, Phase, number, number];
      const { turns } = samples(rolloutId({ id, phase, round }, index));
      const turn = request.tokens.filter((token) => token === CALL_END).length;
      const { tokens, call } = turns[Math.min(turn, turns.length - 1)]!;
      const by = version;
      await servers.generate(tokens);
      signal?.throwIfAborted();
      generatedTokens += tokens;
      const right = (turns.length + tokens + index) % 2;
      const end = call === null ? ANSWERS[right]! : CALL;
      const said = [
        ...new Array<number>(wordsFor(tokens, options, [index, turn])).fill(WORD),
        ...end,
      ];
      return {
        tokens: Int32Array.from(said),
        logProbs: new Float32Array(said.length).fill(-0.5),
        finish: 'stop',
        topLogProbs: said.slice(0, request.topLogProbs).map(() => [0]),
        version: by,
      };
    },
    async load(weights) {
      meter.set({ loading: true });
      await clock.sleep(1000 * loadSeconds);
      meter.set({ loading: false });
      version = weights.version;
    },
    stats: () => ({ generatedTokens, prefillTokens: 0, busyMs: 0 }),
    close: async () => undefined,
  };
}

export function plannedTools(options: Common): CallTool {
  const { clock, samples, meter } = options;
  const turns = new Map<string, number>();
  const search = {
    name: 'search',
    about: 'looks a word up',
    concurrencyMax: Number.MAX_SAFE_INTEGER,
    pure: false,
    async run(_input: string, signal: AbortSignal, { rolloutId: id = '' } = {}) {
      const turn = turns.get(id) ?? 0;
      const all = samples(id).turns;
      // The last turn answers.
      if (turn + 2 >= all.length) turns.delete(id);
      else turns.set(id, turn + 1);
      const { seconds, tokens } = all[turn]?.call ?? { seconds: 0, tokens: 0 };
      meter.call(1);
      try {
        await clock.sleep(1000 * seconds, signal);
      } finally {
        meter.call(-1);
      }
      const index = Number(id.slice(id.lastIndexOf('/') + 1));
      const count = Math.max(1, wordsFor(tokens, options, [index, turn]));
      // Separated, they are words.
      return { output: new Array<string>(count).fill('two').join(' '), ok: true };
    },
    close: async () => undefined,
  };
  return callTools([search], { clock });
}

export interface TrainerOptions extends Common {
  readonly disk: Disk;
  readonly promptTokens: number;
  /** Seconds of a step on so many tokens, and of a version's way to the engines. */
  readonly stepSeconds: (tokens: number) => number;
  readonly publishSeconds: number;
  readonly published: (version: number) => void;
  /** Called with the tokens of each step. */
  readonly trained: (tokens: number) => void;
}

export function plannedTrainer(options: TrainerOptions): TrainerEngine {
  const { clock, disk, meter, stepSeconds, publishSeconds, published, trained } = options;
  const held = (version: number): string => `weights of version ${version}`;
  return {
    async score(sequences) {
      return sequences.map(({ length }) => ({ logProbs: new Float32Array(length).fill(-0.5) }));
    },
    async step({ sequences }) {
      const tokens = tokensOf(sequences, options);
      const seconds = stepSeconds(tokens);
      meter.set({ training: true });
      await clock.sleep(1000 * seconds);
      meter.set({ training: false });
      trained(tokens);
      const numbers = { 'logprob/diff_mean': 0, 'logprob/diff_max': 0 };
      const report = { loss: 0.5, gradNorm: 1, applied: true, entropy: 0.25, numbers };
      return { ...report, tokens, ms: 1000 * seconds };
    },
    async save({ version, state }) {
      await clock.sleep(1000 * publishSeconds);
      const files = filesOf(version);
      const text = held(version);
      disk.write(files.weights, text);
      disk.write(files.state, text);
      published(version);
      const at = (uri: string) => ({ version, uri, digest: digestOf(text) });
      return {
        weights: at(files.weights),
        state: state === false ? null : at(files.state),
        bytes: text.length,
      };
    },
    restore: async () => undefined,
    close: async () => undefined,
  };
}

/** How many tokens these sequences stand for. */
function tokensOf(
  sequences: readonly TrainSequence[],
  { tokensPerWord, promptTokens }: TrainerOptions,
): number {
  let found = 0;
  for (const { tokens } of sequences) {
    for (const token of tokens) if (token === WORD || token === RESULT) found += 1;
  }
  return found * tokensPerWord + sequences.length * promptTokens;
}
