/**
 * System prompts of benchmarks that have one of their own: xbench's questions are Chinese, and the papers'
 * evaluations ask them in Chinese.
 *
 * The prompt is part of a policy. So these are for policies of which no prompt is known, in the papers' tags,
 * with the tools that the prompt explains, and only where none is set. An evaluation that goes on keeps what
 * it recorded.
 */

import { type DialectName, type NamedPrompt, releasedPrompt } from '../../jobs/dialects/index.ts';
import type { AskedBefore } from '../../jobs/parts/index.ts';
import type { Declared, Dialect } from '../../operators/dialect/index.ts';
import type { Question } from '../../topics/index.ts';
import type { EvalSettings } from './evalSettings.ts';

const ownPrompts: Readonly<Record<string, NamedPrompt>> = { xbench: 'code-search-cn' };

/** What to ask, and how. */
export interface Asking {
  readonly settings: Pick<EvalSettings, 'system' | 'prompt' | 'explained'>;
  readonly before: AskedBefore | null;
  /** The dialect's name. */
  readonly name: DialectName;
  readonly tools: readonly Declared[];
}

/** The sets among these that have a prompt of their own here, with its text. */
export function setPrompts(
  sources: readonly string[],
  { settings, before, name, tools }: Asking,
): Readonly<Record<string, string>> {
  const { system, prompt, explained } = settings;
  if (system !== '' || prompt !== '' || !explained) return {};
  if (before !== null) return before.from === null ? (before.prompt.sources ?? {}) : {};
  const has = (tool: string) => tools.some((one) => one.name === tool);
  if (name !== 'tags' || !has('python') || !has('search')) return {};
  return Object.fromEntries(
    sources.flatMap((source) =>
      Object.hasOwn(ownPrompts, source)
        ? [[source, releasedPrompt(ownPrompts[source]!, { name, system, tools })]]
        : [],
    ),
  );
}

/** For people, once: which sets use such a prompt. */
export function setPromptLines(sources: readonly string[]): readonly string[] {
  return sources.flatMap((source) =>
    Object.hasOwn(ownPrompts, source)
      ? [
          `${source}: asked with prompt ${ownPrompts[source]}, as the papers’ evaluations ask it (another: --prompt NAME or --system FILE)`,
        ]
      : [],
  );
}

/**
 * `usual`, with the questions of some sets asked by dialects of their own. Two sets with the same question
 * ask it the same way.
 */
export function askedBySet(
  usual: Dialect,
  own: ReadonlyMap<string, { readonly dialect: Dialect; readonly system: string }>,
  questions: readonly Pick<Question, 'source' | 'question'>[],
): Dialect {
  const byText = new Map(
    questions.flatMap(({ source, question }) => {
      const found = own.get(source);
      return found === undefined ? [] : [[question, found.dialect] as const];
    }),
  );
  const sources = Object.fromEntries([...own].map(([source, { system }]) => [source, system]));
  const { asked = { system: null, tools: null } } = usual;
  return {
    ...usual,
    asked: { ...asked, sources },
    prompt: (question) => (byText.get(question) ?? usual).prompt(question),
  };
}
