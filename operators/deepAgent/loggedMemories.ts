/**
 * Memories made from the record of the calls, if the auxiliary model gives none in the required form: the
 * tool memory completely, the others as far as the record goes. Deterministic and bounded: the last calls
 * count.
 */
import type { Action } from '../../topics/index.ts';
import { cutCodePoints } from '../text/characters.ts';
import type { MemoryKind, MemoryOf } from './memories.ts';
import { pythonJson } from './pythonJson.ts';

/** Limits of the calls, events and errors listed; more would outgrow what a fold should free. */
const KEPT = 12;
const CHARACTERS = 160;

/** The memory of this kind, made from the record. */
export function loggedMemory(
  kind: MemoryKind,
  question: string,
  actions: readonly Action[],
): string {
  const made = { episodic, working, tool }[kind](question, actions);
  return pythonJson(made, 2);
}

function episodic(question: string, actions: readonly Action[]): MemoryOf<'episodic'> {
  const events = actions.filter(({ kind }) => kind !== 'fold');
  return {
    task_description: short(question),
    key_events: events.slice(-KEPT).map((action) => ({
      step: String(actions.indexOf(action) + 1),
      description:
        action.kind === 'search' ? `searched for tools: ${short(action.input)}` : called(action),
      outcome: short(action.fault === '' ? action.response : action.fault),
    })),
    current_progress: `${events.length} actions were taken, ${events.filter(({ ok }) => ok).length} of them succeeded.`,
  };
}

function working(_question: string, actions: readonly Action[]): MemoryOf<'working'> {
  const failed = actions.filter(({ kind, ok }) => kind !== 'fold' && !ok).slice(-KEPT);
  return {
    immediate_goal: 'Go on with the task from what is remembered.',
    current_challenges: failed.map(({ fault, response }) => short(fault || response)).join(' '),
    next_actions: [],
  };
}

function tool(_question: string, actions: readonly Action[]): MemoryOf<'tool'> {
  const calls = actions.filter(({ kind, name }) => kind === 'call' && name !== null);
  const names = [...new Set(calls.map(({ name }) => name!))].slice(-KEPT);
  return {
    tools_used: names.map((name) => {
      const own = calls.filter((call) => call.name === name);
      const good = own.filter(({ ok }) => ok);
      const bad = own.filter(({ ok }) => !ok);
      return {
        tool_name: name,
        success_rate: good.length / own.length,
        effective_parameters: good.slice(-3).map(({ input }) => short(input)),
        common_errors: bad.slice(-3).map(({ fault, response }) => short(fault || response)),
        response_pattern: short(good.at(-1)?.response ?? ''),
        experience: '',
      };
    }),
    derived_rules: [],
  };
}

function called({ name, input }: Action): string {
  return name === null ? 'wrote a call that is none' : `called ${name} with ${short(input)}`;
}

function short(text: string): string {
  return cutCodePoints(text, CHARACTERS);
}
