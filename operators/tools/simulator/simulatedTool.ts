/**
 * A tool that a simulated world answers for (DeepAgent §3.2), in place of the real one.
 *
 * An answer is identified by (tool, arguments in any order, version of the world, group). So all rollouts of
 * a group meet one world, a resumed run finds it again in the cache that it is given, and a replay never
 * asks, since every call is in `tool-calls`. Arguments are checked before the model is asked, and a wrong one
 * always gets the same answer.
 */
import { canonicalJson, jsonIn } from '../../../base/text/index.ts';

import { isObject } from '../../dialect/native/toolCalls.ts';
import { argumentFault } from '../arguments.ts';
import type { AskOnce } from '../cache/askOnce.ts';
import { isErrorResponse } from '../errorResponse.ts';
import { type Tool, type ToolResult, toolDown } from '../tool.ts';
import { idOf, type SimulatedSpec, type ToolWorld, type WorldCall } from './world.ts';

/** Who answers, and where answers are cached. */
export interface SimulatorOptions {
  readonly world: ToolWorld;
  /** `askOnce(cache)` with a cache of the run's own; one for all tools of a world. */
  readonly once: AskOnce;
  /** Calls of one tool that may be answered at once (default 8). */
  readonly concurrencyMax?: number;
}

/**
 * Takes its arguments as JSON. A world that does not answer is a tool that is down, so nothing is trained on.
 */
export function simulatedTool(spec: SimulatedSpec, options: SimulatorOptions): Tool {
  const { world, once, concurrencyMax = 8 } = options;
  const { name, about, parameters } = spec;
  return {
    ...{ name, about, parameters, concurrencyMax },
    // The group matters too, and it is not in the input.
    pure: false,
    async run(input, signal, situation = {}) {
      const given = jsonIn(input === '' ? '{}' : input);
      if (!isObject(given)) return refused(`the arguments of ${name} are one JSON object`);
      const fault = argumentFault(spec, given);
      if (fault !== null) return refused(fault);
      const call: WorldCall = { tool: spec, arguments: given, group: groupOf(situation.rolloutId) };
      const place = { kind: 'tool', scope: world.version, key: simulatorKey(call) } as const;
      const answer = async () => {
        const said = await world.answer(call, signal);
        if (said === undefined) throw toolDown(name, 'the simulator gave no answer');
        return { value: JSON.stringify(said), keep: true };
      };
      const { value, cached } = await once(place, answer, signal);
      return { output: value, ok: !isErrorResponse(value), cached };
    },
    close: async () => undefined,
  };
}

/** What identifies an answer within one version of a world. */
export function simulatorKey({ group, tool, arguments: given }: WorldCall): string {
  return JSON.stringify([group, idOf(tool), canonicalJson(given)]);
}

/** The group of `<question id>/<phase>-<round>/<index>`; a call from no rollout has a world of its own. */
function groupOf(rolloutId = ''): string {
  return rolloutId.slice(0, Math.max(0, rolloutId.lastIndexOf('/')));
}

function refused(why: string): ToolResult {
  return { output: JSON.stringify({ error: why }), ok: false };
}
