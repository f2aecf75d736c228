/**
 * The prompts of the auxiliary model (DeepAgent §1.5, §1.6, §2.3): to say what a search or call was for, to
 * pick from a long result, and to write the three memories.
 */

import type { MemoryKind } from './memories.ts';
import { pythonJson } from './pythonJson.ts';

/** Asks for the purpose of a search or a call, judging by the last steps. */
export function intentPrompt(kind: 'search' | 'call', asked: string, steps: string): string {
  const what = kind === 'search' ? 'searched for tools' : 'called a tool';
  return [
    `Somebody works on a task step by step and has just ${what}. Say in two or three sentences what they want to find out or get done by it. Say nothing else.`,
    `## Last steps\n\n${steps}`,
    `## The ${kind}\n\n${asked}`,
  ].join('\n\n');
}

/** Asks which of many tools are useful; the answer is JSON in a fence. */
export function selectPrompt(query: string, intent: string, hits: string): string {
  return [
    'Somebody searched for tools. Choose from what was found the tools that serve what they want, and leave out the others. Copy each chosen tool as it stands. Answer with a JSON array between ```json and ```.',
    `## The search\n\n${query}`,
    `## What it is for\n\n${intent}`,
    `## What was found\n\n${hits}`,
  ].join('\n\n');
}

/** Asks what is useful in a long result. */
export function condensePrompt(call: string, intent: string, response: string): string {
  return [
    'Somebody called a tool, and its answer is long. Write down what in it serves what they want: facts, names, numbers and identifiers exactly as they stand. Add nothing. Write the text only.',
    `## The call\n\n${call}`,
    `## What it is for\n\n${intent}`,
    `## The answer of the tool\n\n${response}`,
  ].join('\n\n');
}

const tasks: Readonly<Record<MemoryKind, string>> = {
  episodic:
    'Write an episodic memory of the work below: what the task is, the events that mattered with their outcomes, in order, and how far it has come.',
  working:
    'Write a working memory of the work below: the goal that is at hand, what stands in its way now, and the next actions.',
  tool: 'Write a tool memory of the work below: for each tool that was used, how often it succeeded (from 0 to 1), parameters that worked, errors that came, what its answers look like, what was learnt of it; and rules that follow for the use of tools.',
};

const forms: Readonly<Record<MemoryKind, unknown>> = {
  episodic: {
    task_description: 'text',
    key_events: [{ step: 'text', description: 'text', outcome: 'text' }],
    current_progress: 'text',
  },
  working: {
    immediate_goal: 'text',
    current_challenges: 'text',
    next_actions: [{ type: 'tool_call, planning or decision', description: 'text' }],
  },
  tool: {
    tools_used: [
      {
        tool_name: 'text',
        success_rate: 0.5,
        effective_parameters: ['text'],
        common_errors: ['text'],
        response_pattern: 'text',
        experience: 'text',
      },
    ],
    derived_rules: ['text'],
  },
};

/** What memories are made from. */
export interface Remembered {
  readonly question: string;
  /** All that was written, in numbered steps. */
  readonly steps: string;
  /** Calls with their answers, as JSON: the tool memory is given them. */
  readonly calls: string;
  /** The tools that are known, as JSON; empty in the reference, which loses them. */
  readonly tools: string;
}

/** Asks for one of the three memories. */
export function memoryPrompt(
  kind: MemoryKind,
  { question, steps, calls, tools }: Remembered,
): string {
  const form = pythonJson(forms[kind], 2);
  return [
    `${tasks[kind]} Somebody who sees your memory and nothing else is to go on with the work. Answer with JSON of this form and nothing else:\n\n\`\`\`json\n${form}\n\`\`\``,
    `## The task\n\n${question}`,
    `## The work\n\n${steps}`,
    ...(kind === 'tool' ? [`## Calls and their answers\n\n${calls}`] : []),
    ...(tools === '' ? [] : [`## Tools that are known\n\n${tools}`]),
  ].join('\n\n');
}

/** The same request again, with what was wrong with the first reply. */
export function repairPrompt(prompt: string, why: string): string {
  return `${prompt}\n\n## Your first answer could not be used\n\n${why}. Write it again, of the form above.`;
}
