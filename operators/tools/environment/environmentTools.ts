/**
 * An environment as tools: one that begins it for a rollout, which the rollout itself calls, and those by
 * which the policy acts. What is asked and answered are calls like any other, so they are recorded, shown and
 * replayed like any other; a step's reward, and whether it was the last, are in `step`.
 *
 * Guarantees:
 * - each rollout has a session of its own, from its beginning until the environment or the rollout ends;
 * - an environment that is lost (no answer, an exception in it, a connection that ended) is a tool that is
 *   down: the rollout fails, and is worth nothing, not 0;
 * - an action that the environment cannot read is a failed call, which the policy reads;
 * - a rollout that branched off another one gets a session of its own, in which the calls up to there are
 *   made again; an environment that then shows something else cannot be branched in, and says so.
 */
import { messageOf } from '../../../base/index.ts';
import { jsonIn } from '../../../base/text/index.ts';
import { isObject, onlyText, specOf } from '../../dialect/native/toolCalls.ts';
import { argumentFault } from '../arguments.ts';
import {
  type CallSituation,
  type PastCall,
  type Tool,
  type ToolResult,
  toolDown,
} from '../tool.ts';
import { actionOf, type EnvironmentAction } from './actions.ts';
import { observationText, type Shown } from './observationText.ts';
import type { EnvironmentSession } from './session.ts';
import type { EnvironmentSessions } from './sessions.ts';
import { type Observed, readWorld } from './wire.ts';

/** The tool that begins an environment; a rollout calls it before its policy is asked. */
export const ENVIRONMENT = 'environment';

export interface EnvironmentToolsOptions {
  readonly sessions: EnvironmentSessions;
  readonly actions: readonly EnvironmentAction[];
  /** Fields of an observation to show; none = its text, or all of it. */
  readonly show: readonly string[];
  /** Limit of code points of an observation. */
  readonly charactersMax: number;
}

/** The tools of an environment. */
export interface EnvironmentTools {
  readonly begin: Tool;
  readonly actions: readonly Tool[];
}

/** A rollout's session with its environment. */
interface World {
  /** Null: the environment has ended it. */
  session: EnvironmentSession | null;
  /** It is lost, for this reason. */
  lost: Error | null;
}

/** There are as many concurrent calls as rollouts; the sessions are bounded. */
const UNBOUNDED = Number.MAX_SAFE_INTEGER;

/** See above; closing any of them ends all sessions. */
export function environmentTools(options: EnvironmentToolsOptions): EnvironmentTools {
  const { sessions } = options;
  const worlds = new Map<string, World>();

  function end(rolloutId: string): void {
    worlds.get(rolloutId)?.session?.close();
    worlds.delete(rolloutId);
  }

  async function begin(
    input: string,
    signal: AbortSignal,
    { rolloutId }: CallSituation,
  ): Promise<ToolResult> {
    if (rolloutId === undefined) throw new Error('an environment can only be begun for a rollout');
    end(rolloutId);
    const { reset, shows } = readWorld(input);
    const { session, first } = await orDown(sessions.begin(reset, signal), signal);
    worlds.set(rolloutId, { session, lost: null });
    const shown = seen(first, rolloutId);
    if (shows !== '' && !plain(shown.output).includes(plain(shows))) {
      throw down(
        `its task is not the question's (task.world.shows = ${JSON.stringify(shows)}): serve the split that the questions come from, in their order`,
      );
    }
    return shown;
  }

  async function act(
    action: EnvironmentAction,
    input: string,
    signal: AbortSignal,
    { rolloutId = '', past = [] }: CallSituation,
  ): Promise<ToolResult> {
    const world = worlds.get(rolloutId) ?? (await again(rolloutId, past, signal));
    if (world.lost !== null) throw world.lost;
    if (world.session === null) return { output: 'The environment has ended.', ok: false };
    const given = argumentsOf(action, input);
    if (typeof given === 'string') return { output: `Error: ${given}.`, ok: false };
    try {
      const request = { type: 'step', data: actionOf(action, given) } as const;
      const answer = await orDown(world.session.ask(request, signal), signal);
      if (answer.kind === 'observed') return seen(answer, rolloutId);
      if (answer.code === 'VALIDATION_ERROR')
        return { output: `Error: the environment cannot read this: ${answer.message}`, ok: false };
      throw down(`it failed: ${answer.message} (${answer.code})`);
    } catch (error) {
      if (!signal.aborted) world.lost = error as Error;
      world.session?.close();
      throw error;
    }
  }

  /** The session of a rollout that branched off another one. */
  async function again(
    rolloutId: string,
    past: readonly PastCall[],
    signal: AbortSignal,
  ): Promise<World> {
    const [first, ...more] = past;
    if (first === undefined) throw down('it was never started for this rollout');
    const same = (call: PastCall, { output }: ToolResult): void => {
      if (output === call.output) return;
      throw down(
        'the same actions do not give the same observations, so rollouts cannot branch in it: set branching=none, or give each question a seed (task.world.reset)',
      );
    };
    try {
      same(first, await begin(first.input, signal, { rolloutId }));
      for (const call of more) {
        const action = options.actions.find(({ name }) => name === call.tool);
        if (action === undefined) throw down(`it has no tool ${call.tool}`);
        same(call, await act(action, call.input, signal, { rolloutId }));
      }
    } catch (error) {
      end(rolloutId);
      throw error;
    }
    return worlds.get(rolloutId)!;
  }

  /** What the policy sees, and its reward. */
  function seen(observed: Observed, rolloutId: string): ToolResult {
    const { text, failed }: Shown = observationText(observed.observation, options);
    const { reward, done } = observed;
    const world = worlds.get(rolloutId);
    if (done && world !== undefined) {
      world.session?.close();
      world.session = null;
    }
    return { output: text, ok: !failed, step: { reward, done } };
  }

  const base = {
    ...{ concurrencyMax: UNBOUNDED, pure: false, end },
    close: async () => {
      for (const id of [...worlds.keys()]) end(id);
    },
  };
  return {
    begin: {
      ...{ ...base, name: ENVIRONMENT, about: 'Begins an environment.', offered: false },
      run: (input, signal, situation = {}) => begin(input, signal, situation),
    },
    actions: options.actions.map((action) => {
      const { name, about, parameters } = action;
      return {
        ...{ ...base, name, about, parameters },
        run: (input, signal, situation = {}) => act(action, input, signal, situation),
      };
    }),
  };
}

/** The arguments of a call, or what is wrong with them. A tool with one text may be given it bare. */
function argumentsOf(
  action: EnvironmentAction,
  input: string,
): Readonly<Record<string, unknown>> | string {
  const { name, parameters } = action;
  const only = onlyText(specOf(action));
  const read = jsonIn(input);
  const isBare = only !== null && !(isObject(read) && Object.hasOwn(read, only));
  const given = isBare ? { [only]: input } : read;
  if (!isObject(given)) {
    const names = Object.keys(parameters.properties).join(', ');
    return `${name} takes one JSON object with: ${names || 'nothing'}`;
  }
  return argumentFault(action, given) ?? given;
}

async function orDown<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await work;
  } catch (error) {
    signal.throwIfAborted();
    throw down(messageOf(error), error);
  }
}

function down(why: string, cause?: unknown): Error {
  return toolDown(ENVIRONMENT, why, cause);
}

function plain(text: string): string {
  return text.toLowerCase().replace(/\s+/g, ' ').trim();
}
