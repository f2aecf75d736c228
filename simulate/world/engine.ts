/**
 * A simulated engine behind a simulated server. What the policy says follows from its version, the question
 * and its draws, never from timing; how long it takes, and what becomes of a request, is drawn by attempt.
 *
 * The client in front of the server does what such clients do: it repeats what got no answer, gives up after
 * a few times, and gives the server its weights again when it has lost them.
 */
import type { Draws } from '../../base/index.ts';
import type { Checkpoint, GenerateRequest, Generation, PolicyEngine } from '../../model/index.ts';
import { type ScriptLine, scriptedPolicy } from '../../testing/index.ts';
import type { Disk } from './disk.ts';
import type { Life } from './life.ts';
import { words } from './words.ts';

/** What becomes of requests at a moment. */
export interface Weather {
  /** Share of replies that never come, and of those that come late. */
  readonly lost: number;
  readonly late: number;
  /** The server does not answer. */
  readonly away: boolean;
  /** How often the server has lost its weights so far. */
  readonly restarts: number;
}

export interface EngineOptions {
  readonly life: Life;
  readonly disk: Disk;
  readonly draws: Draws;
  /** Of one token. */
  readonly tokenMs: number;
  /**
   * `live`: generations go on, with their weights, while others are loaded; `drain`: a load waits for them.
   */
  readonly swap: 'live' | 'drain';
  readonly weather: () => Weather;
  /** Told of each request that is under way, and of its end. */
  readonly busy: (request: GenerateRequest, now: boolean) => void;
}

const TRIES = 4;
const GIVE_UP_MS = 5_000;

export function simulatedEngine(options: EngineOptions): PolicyEngine {
  const { life, disk, draws, tokenMs, swap, weather, busy } = options;
  const scripted = scriptedPolicy({
    tokenizer: words,
    script: said,
    topLogProbs: ({ draws: chance }) => [Math.log(0.5 + 0.4 * chance.uniform(7)), Math.log(0.1)],
  });
  let held: Checkpoint | null = null;
  let restarts = weather().restarts;
  let active = 0;
  let loading: Promise<void> | null = null;
  let idle = (): void => undefined;

  const load = async (weights: Checkpoint): Promise<void> => {
    life.passes('load');
    if (swap === 'drain') while (active > 0) await new Promise<void>((done) => (idle = done));
    await life.clock.sleep(20 + 60 * draws.under('load', weights.version).uniform(0));
    disk.read(weights);
    await scripted.load(weights);
    held = weights;
    restarts = weather().restarts;
  };
  /** One at a time. */
  const loaded = (weights: Checkpoint): Promise<void> => {
    const before = loading ?? Promise.resolve();
    const mine = before.then(() => load(weights));
    const over = mine.catch(() => undefined);
    loading = over;
    void over.then(() => {
      if (loading === over) loading = null;
    });
    return mine;
  };

  const attempt = async (request: GenerateRequest, number: number): Promise<Generation | null> => {
    const chance = draws.under('reply', ...request.draws, request.tokens.length, number);
    while (weather().restarts !== restarts && held !== null) await loaded(held);
    while (loading !== null && swap === 'drain') await loading;
    const { lost, late, away } = weather();
    if (away || chance.uniform(0) < lost) {
      await life.clock.sleep(GIVE_UP_MS);
      return null;
    }
    active += 1;
    try {
      const made = await scripted.generate(request);
      const slow = chance.uniform(1) < late ? 40 : 1;
      await life.clock.sleep((5 + made.tokens.length * tokenMs) * (0.5 + chance.uniform(2)) * slow);
      return made;
    } finally {
      active -= 1;
      if (active === 0) idle();
    }
  };

  return {
    contextMax: scripted.contextMax,
    async generate(request, signal) {
      life.passes('generate');
      busy(request, true);
      try {
        for (let number = 0; number < TRIES; number++) {
          signal?.throwIfAborted();
          const made = await attempt(request, number);
          signal?.throwIfAborted();
          life.passes('generated');
          if (made !== null) return made;
        }
      } finally {
        busy(request, false);
      }
      throw new Error(`no reply to ${TRIES} requests`);
    },
    load: loaded,
    stats: () => scripted.stats(),
    close: async () => undefined,
  };
}

/** Looks things up now and then, and is right more often after it has. */
function said({ context, draws, version }: ScriptLine): string {
  const chance = draws.under('version', version);
  const searched = context.includes('</search>');
  if (chance.uniform(0) < 0.45) return '<think>I look it up.</think><search>one</search>';
  const [, a, b] = /(\d) ?\+ ?(\d)/.exec(context) ?? [];
  const right = chance.uniform(1) < (searched ? 0.7 : 0.4);
  const answer = Number(a) + Number(b) + (right ? 0 : 1);
  return `<think>So it is ${answer}.</think><answer>\\boxed{${answer}}</answer><|end|>`;
}
