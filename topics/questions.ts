/** `questions`: the questions of a run, and what distinguishes one from the same question asked again. */
import {
  choice,
  formerly,
  list,
  named,
  nullable,
  record,
  type shapes,
  text,
  type ValueOf,
  whole,
  withDefault,
} from '../streams/contracts/index.ts';
import { defineRunTopic } from './defineRunTopic.ts';
import { questionLink } from './links.ts';

const ability = choice('Ability', ['math', 'qa']);
/** What a question requires: `math` = reasoning to a number or formula, `qa` = knowledge to look up. */
export type Ability = ValueOf<typeof ability>;

const phase = choice('Phase', ['explore', 'practice', 'evaluate', 'evolve', 'prefer']);
/**
 * Why a question is rolled out: `explore` = direct rollouts that Pareto sampling judges, `practice` =
 * rollouts that are trained on, `evaluate` = rollouts that are only measured, `evolve` = the flywheel makes a
 * pool of trajectories of it, `prefer` = rollouts that become preference pairs.
 */
export type Phase = ValueOf<typeof phase>;

export const schedule = record('Schedule', {
  index: whole,
  of: whole,
  version: whole,
});
/**
 * A group's place in its round: group `index` of `of`; the round begins at policy `version` (-1: at the one
 * that ends the round before).
 */
export interface Schedule extends ValueOf<typeof schedule> {}

export const gold = record('Gold', {
  /**
   * What an item is: `tools` = the name of a function; `endpoints` = `GET /movie/{movie_id}`; `calls` = a
   * call as JSON, `{"name", "arguments"}`; `answers` = a sub-answer that some result holds; `patterns` = a
   * regular expression that some result fits.
   */
  kind: choice('GoldKind', ['tools', 'endpoints', 'calls', 'answers', 'patterns']),
  items: list(text),
});
/** The calls that answer a question, or the facts that they must find. */
export interface Gold extends ValueOf<typeof gold> {}

export const task = record('Task', {
  /** Null = the calls that answer it are unknown. */
  gold: nullable(named<Gold>(gold)),
  /** The functions that the question lists: in OpenAI's form as JSON, or the names of some of the library. */
  functions: list(text),
  /** Python that defines those functions; empty = not given. */
  program: text,
  /** Names of its attachments in the folder of the run's files. */
  files: list(text),
  /** The arguments of its environment's reset, as JSON; empty = no environment. */
  world: text,
});
/** What a question has besides its answers. */
export interface Task extends ValueOf<typeof task> {}

const shape = record('Question', {
  id: text,
  question: text,
  answers: list(text),
  source: text,
  ability,
  phase,
  /** Curriculum round, from 1; 0 = before any training. */
  round: formerly('stage', whole),
  /** Set for groups that are trained on: those of phase `practice`, and candidates used as they are. */
  schedule: nullable(named<Schedule>(schedule)),
  task: withDefault(nullable(named<Task>(task)), null),
});
/** One task. The same question may come again in another round; (id, phase, round) is unique in a run. */
export interface Question extends Omit<ValueOf<typeof shape>, 'task'> {
  /** What it has besides its answers; left out = null. */
  readonly task?: Task | null;
}
export const question = shape as unknown as shapes.Shape<Question>;

/** When a question is asked: its phase and its round, which all questions of a round share. */
export function askedIn({
  phase,
  round,
}: {
  readonly phase: string;
  readonly round: number;
}): string {
  return `${phase}-${round}`;
}

/** A question as it was asked: the same one comes again in other phases and rounds. One in a run. */
export function asked({ id, ...when }: Pick<Question, 'id' | 'phase' | 'round'>): string {
  return `${id}/${askedIn(when)}`;
}

export const questions = defineRunTopic<Question>({
  name: 'questions',
  about:
    'Tasks to roll out. Sources write it, as does the round that practises selected questions; rollout reads it.',
  shape: question,
  key: ({ id }) => id,
  subjects: 'key',
  version: 4,
  identity: asked,
  moment: () => -1,
  keyName: 'question id',
  line: ({ phase: why, round, question: text }) => `${why} ${round}: ${text}`,
  links: ({ id }) => [questionLink(id)],
});
