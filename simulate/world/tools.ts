/**
 * The simulated tool: a search that takes as long as is drawn for the call, fails now and then, and in bad
 * times hangs, is not there, or has a server that answers when the tool has given it up, or nobody waits any
 * more. Calls go through the real toolbox. An answer says which call it is of.
 */
import { type Draws, draws as drawsOf } from '../../base/index.ts';
import { type CallOrigin, type CallTool, callTools } from '../../operators/index.ts';
import { type Tool, type ToolResult, toolDown } from '../../operators/tools/index.ts';
import { type Life, never } from './life.ts';
import type { VirtualClock } from './virtualClock.ts';

/** What happens to calls at a moment. */
export interface ToolWeather {
  /** Share of calls that hang until the tool gives up. */
  readonly hang: number;
  /** Share whose answer misses the tool's deadline and ignores the call's end. */
  readonly overdue: number;
  readonly down: boolean;
}

/** A call, as its answer knows it. */
export type Asked = Pick<CallOrigin, 'rolloutId' | 'turn'> & { readonly input: string };

export interface ToolsOptions {
  readonly life: Life;
  /** In the world's time: a server continues even if nobody waits any more. */
  readonly clock: VirtualClock;
  readonly draws: Draws;
  readonly toolMs: number;
  readonly weather: () => ToolWeather;
  /** Called when an answer arrives after the tool had given up. */
  readonly late: (call: Asked, output: string) => void;
  /** Called with violations. */
  readonly broken: (what: string) => void;
}

export const TOOL = 'search';
const HANG_MS = 45_000;
const DEADLINE_MS = 8_000;
const AT_ONCE = 3;
/** The tail of the latencies: this share takes this many times as long. */
const SLOW = 0.06;
const SLOW_TIMES = 40;
const GIVEN_UP: ToolResult = { output: 'timed out', ok: false };

/** The tool's result. */
export function answerTo({ rolloutId, turn, input }: Asked): string {
  return `two ${input} ${turn} ${drawsOf('answer', rolloutId, turn).integer(0, 10)}`;
}

export function simulatedTools(options: ToolsOptions): CallTool {
  const { life, clock: world, draws, toolMs, weather, late, broken } = options;
  const { clock } = life;
  let calls = 0;
  let active = 0;
  /** It is given up at its deadline, whatever happens to the call. */
  const overdue = async (call: Asked, chance: Draws): Promise<ToolResult> => {
    const answered = world.sleep(DEADLINE_MS * 2 * chance.uniform(1)).then(() => true);
    const deadline = new AbortController();
    const over = world.sleep(DEADLINE_MS, deadline.signal).catch(() => undefined);
    const inTime = await Promise.race([answered, over.then(() => false)]);
    deadline.abort();
    if (life.dead) return never();
    if (inTime) return { output: answerTo(call), ok: true };
    void answered.then(() => late(call, answerTo(call)));
    return GIVEN_UP;
  };
  const run = async (call: Asked, signal: AbortSignal): Promise<ToolResult> => {
    life.passes('call');
    const bad = weather();
    const chance = draws.under('call', call.rolloutId, calls++);
    if (bad.down) {
      await clock.sleep(1_000, signal);
      throw toolDown(TOOL, 'its server does not answer');
    }
    if (chance.uniform(0) < bad.hang) {
      await clock.sleep(HANG_MS, signal);
      return GIVEN_UP;
    }
    if (chance.uniform(3) < bad.overdue) return overdue(call, chance.under('overdue'));
    const slow = chance.uniform(2) < SLOW ? SLOW_TIMES : 1;
    await clock.sleep(slow * toolMs * (0.2 - Math.log(1 - chance.uniform(1))), signal);
    life.passes('called');
    return { output: answerTo(call), ok: true };
  };
  const search: Tool = {
    name: TOOL,
    about: 'looks a word up',
    concurrencyMax: AT_ONCE,
    pure: false,
    async run(input, signal, situation: Partial<CallOrigin> = {}) {
      const { rolloutId = '', turn = 0 } = situation;
      active += 1;
      if (active > AT_ONCE) broken(`${active} calls of a tool that takes ${AT_ONCE} at once`);
      try {
        return await run({ rolloutId, turn, input }, signal);
      } finally {
        active -= 1;
      }
    },
    close: async () => undefined,
  };
  return callTools([search], { clock });
}
