/**
 * The quickstart's analyst and critic: a rule-based model that knows the world's tasks and what each takes.
 * It replies to the flywheel's prompts in the formats that they ask for. What it puts into the policy's mouth
 * (new steps, shorter steps, thinking) contains no fact that only a tool could give: it counts how far the
 * results in the prompt have come on the shortest way, and goes on from there with words of the question and
 * of those results. (Single-digit sums are known by heart.) It uses no word that the policy has no token for.
 *
 * It reads the package's prompts; if you override those, use a real model.
 */
import type { Hints } from 'millrace';
import { isFailure } from './world/hard/noise.ts';
import type { Task as AnyTask, Step } from './world/tasks.ts';

/** A task of any world. */
type Task = AnyTask<string>;

/** What the policy reads when it goes wrong, in words of the closed vocabulary; each ends a sentence. */
export const hints: Hints = {
  math: ['Let me check again.', 'I compute it.'],
  qa: ['Let me check again.'],
};

/** What is wrong with a step of a solution, in the critic's words; null = nothing. */
type Flaw = string | null;

/** A call with its result, or an answer. */
interface Move {
  readonly tool: string | null;
  readonly input: string;
  readonly result: string;
  /** Null without an answer. */
  readonly answer: string | null;
  readonly boxed: boolean;
}

/** How far the moves have come, and what is wrong with the last one. */
interface Progress {
  /** Steps of the shortest way whose fact a result has given. */
  readonly done: number;
  readonly flaw: Flaw;
}

/** A flywheel request, as far as the critic reads it. Its name is the last key but one of its draws. */
interface Request {
  readonly draws: readonly (string | number)[];
  readonly prompt: string;
  readonly continuation?: string;
}

/** The critic of these tasks: answers a request; null for any other question. */
export function worldCritic(tasks: readonly Task[]): (request: Request) => string | null {
  const byQuestion = new Map(tasks.map((task) => [task.question, task]));
  return ({ draws, prompt, continuation = '' }) => {
    const name = String(draws.at(-2));
    if (name.startsWith('judge/')) return judge(prompt);
    const line = prompt.split('\n').find((text) => byQuestion.has(text));
    if (line === undefined) return null;
    const task = byQuestion.get(line)!;
    const moves = () => stepsIn(prompt).map(moveOf);
    switch (name.slice(name.lastIndexOf('/') + 1)) {
      case 'locate':
        return locate(task, moves());
      case 'analyse':
        return ` ${progress(task, moves()).flaw ?? 'did nothing wrong'}.`;
      case 'new-step':
        return nextStep(task, moves().slice(0, -1));
      case 'redundancy':
        return redundancy(task, moves());
      case 'refine':
        return thinking(task, prompt, continuation);
      default:
        return null;
    }
  };
}

/** Whether the prediction is one of the reference answers, letter for letter. */
function judge(prompt: string): string {
  const said = /\(any one counts\):\n(.*)\n\nPrediction:\n(.*?)\n\nDoes/s.exec(prompt);
  const right = said !== null && said[1]!.split('\n').includes(said[2]!);
  return right ? 'Correct' : 'Incorrect';
}

function locate(task: Task, moves: readonly Move[]): string {
  const { number, flaw } = firstFlaw(task, moves) ?? { number: moves.length, flaw: 'ends here' };
  return `Step: ${number}\nAnalysis: In this step it ${flaw}.`;
}

function redundancy(task: Task, moves: readonly Move[]): string {
  const found = firstFlaw(task, moves);
  if (found === null) return 'Step: no';
  const { number, flaw } = found;
  const corrected = nextStep(task, moves.slice(0, number - 1));
  return `Step: ${number}\nAnalysis: In this step it ${flaw}.\nCorrected Step: ${corrected}`;
}

/** The first flawed step, counted from 1. */
function firstFlaw(task: Task, moves: readonly Move[]) {
  for (let number = 1; number <= moves.length; number++) {
    const { flaw } = progress(task, moves.slice(0, number));
    if (flaw !== null) return { number, flaw };
  }
  return null;
}

/** The shortest way; single digits need no tool. */
function wayOf({ kind, plan }: Task): readonly Step[] {
  return kind === 'none' ? [] : plan;
}

function progress(task: Task, moves: readonly Move[]): Progress {
  const way = wayOf(task);
  let done = 0;
  let flaw: Flaw = null;
  for (const [index, move] of moves.entries()) {
    const step = way[done];
    const failed = isFailure(move.result);
    const earlier = moves.slice(0, index).filter(({ result }) => !isFailure(result));
    const repeats = earlier.some(({ tool, input }) => tool === move.tool && input === move.input);
    if (move.tool !== null) {
      const useful = step !== undefined && !repeats && tells(move, step);
      if (useful) done++;
      // If a tool fails it is not the policy's fault, and repeating the call is right.
      flaw = useful || failed ? null : callFlaw(repeats, step);
    } else flaw = answerFlaw(task, move, done < way.length);
  }
  return { done, flaw };
}

function callFlaw(repeats: boolean, step: Step | undefined): string {
  if (repeats) return 'made the same call again';
  return step === undefined ? 'made a call that was not needed' : 'made an unsuitable call';
}

function answerFlaw(task: Task, { answer, boxed }: Move, early: boolean): Flaw {
  if (answer === null) return 'neither called a tool nor answered';
  if (early) return 'answered without knowing';
  if (answer !== task.answer) return 'answered something else than was found';
  return boxed ? null : 'answered without a box';
}

/** Whether a call's result has the fact that a step looks for. */
function tells({ tool, result }: Move, step: Step): boolean {
  const fact = step.tool === 'search' ? step.finds : step.value;
  return tool === step.tool && ` ${words(result)} `.includes(` ${words(fact)} `);
}

function words(text: string): string {
  return text.replace(/[^\p{L}\d-]+/gu, ' ').trim();
}

/** The step that should follow these moves. */
function nextStep(task: Task, moves: readonly Move[]): string {
  const way = wayOf(task);
  const step = way[progress(task, moves).done];
  if (step?.tool === 'search') {
    return `<think>I look up ${step.query}.</think><search>${step.query}</search>`;
  }
  if (step?.tool === 'python') {
    return `<think>I compute it.</think><python>${step.code}</python>`;
  }
  const thought = way.length === 0 ? 'It is' : 'So it is';
  return `<think>${thought} ${task.answer}.</think><answer>\\boxed{${task.answer}}</answer>`;
}

/** New thinking for the action after those already rewritten. */
function thinking(task: Task, prompt: string, written: string): string {
  const actions = [...prompt.matchAll(/<(search|python|answer)>(.*?)<\/\1>/gs)];
  const at = [...written.matchAll(/<\/(?:search|python|answer)>/g)].length;
  const [text = '', tag, input = ''] = actions[at] ?? [];
  const again = actions.slice(0, at).some(([earlier]) => earlier === text);
  if (tag === 'answer') {
    const answer = /\\boxed\{(.*)\}/s.exec(input)?.[1] ?? input;
    return `<think>${wayOf(task).length === 0 ? 'It is' : 'So it is'} ${answer}.</think>`;
  }
  if (again) return '<think>Let me check again.</think>';
  return `<think>${tag === 'search' ? `I look up ${input}.` : 'I compute it.'}</think>`;
}

/** The steps of the solution in a prompt, without their numbers and without what follows the last one. */
function stepsIn(prompt: string): string[] {
  const [, ...steps] = prompt.split(/^#### Step \d+: /m);
  const last = steps.pop() ?? '';
  const end = Math.max(endOf(last, '</result>'), endOf(last, '</answer>'));
  return [...steps, end > 0 ? last.slice(0, end) : last.split('\n\n')[0]!];
}

function endOf(text: string, tag: string): number {
  const at = text.indexOf(tag);
  return at < 0 ? 0 : at + tag.length;
}

function moveOf(step: string): Move {
  const answer = /<answer>(.*)<\/answer>/s.exec(step)?.[1] ?? null;
  const call = answer === null ? /<(search|python)>(.*?)<\/\1>/s.exec(step) : null;
  const box = answer === null ? undefined : /\\boxed\{(.*)\}/s.exec(answer)?.[1];
  return {
    tool: call?.[1] ?? null,
    input: call?.[2]?.trim() ?? '',
    result: /<result>(.*)<\/result>/s.exec(step)?.[1] ?? '',
    answer: box ?? answer,
    boxed: box !== undefined,
  };
}
