/**
 * The simulated tool: a search that takes as long as is drawn for the call, fails now and then, and in bad
 * times hangs or is not there. Calls go through the real toolbox.
 */
import type { Draws } from '../../base/index.ts';
import { type CallTool, callTools } from '../../operators/index.ts';
import { type Tool, toolDown } from '../../operators/tools/index.ts';
import type { Life } from './life.ts';

/** What becomes of calls at a moment. */
export interface ToolWeather {
  /** Share of calls that hang until the tool gives them up. */
  readonly hang: number;
  readonly down: boolean;
}

export interface ToolsOptions {
  readonly life: Life;
  readonly draws: Draws;
  readonly toolMs: number;
  readonly weather: () => ToolWeather;
  /** Told of what must not be. */
  readonly broken: (what: string) => void;
}

const HANG_MS = 45_000;
const AT_ONCE = 3;
/** The tail of the latencies: this share takes so many times longer. */
const SLOW = 0.06;
const SLOW_TIMES = 40;

export function simulatedTools({ life, draws, toolMs, weather, broken }: ToolsOptions): CallTool {
  const { clock } = life;
  let calls = 0;
  let active = 0;
  const run: Tool['run'] = async (input, signal, { rolloutId = '' } = {}) => {
    life.passes('call');
    const { hang, down } = weather();
    const chance = draws.under('call', rolloutId, calls++);
    if (down) {
      await clock.sleep(1_000, signal);
      throw toolDown('search', 'its server does not answer');
    }
    if (chance.uniform(0) < hang) {
      await clock.sleep(HANG_MS, signal);
      return { output: 'timed out', ok: false };
    }
    const slow = chance.uniform(2) < SLOW ? SLOW_TIMES : 1;
    await clock.sleep(slow * toolMs * (0.2 - Math.log(1 - chance.uniform(1))), signal);
    life.passes('called');
    return { output: `two ${input}`, ok: true };
  };
  const search: Tool = {
    name: 'search',
    about: 'looks a word up',
    concurrencyMax: AT_ONCE,
    pure: false,
    async run(input, signal, situation) {
      active += 1;
      if (active > AT_ONCE) broken(`${active} calls of a tool that takes ${AT_ONCE} at once`);
      try {
        return await run(input, signal, situation);
      } finally {
        active -= 1;
      }
    },
    close: async () => undefined,
  };
  return callTools([search], { clock });
}
