/**
 * Which topics a tap reads: names and patterns (`*`, `?`), each with or without the run before it, all of one
 * run.
 */

import { MillraceError } from '../../base/index.ts';
import { literal } from '../../base/text/index.ts';
import { anyTopic } from '../../streams/contracts/index.ts';
import type { Topic } from '../../streams/index.ts';
import { allTopics } from '../../topics/index.ts';
import { usageError } from '../failure.ts';
import { nearest } from '../nearest.ts';

const ours: readonly Topic<unknown>[] = allTopics;

/** Those that every run may have. */
export const topicNames: readonly string[] = ours.map(({ name }) => name);

export interface Named {
  /** Undefined = the newest. */
  readonly run: string | undefined;
  /** Without the run. */
  readonly patterns: readonly string[];
}

/** Fails with code `USAGE` (more than one run). */
export function named(names: readonly string[], run: string | undefined): Named {
  const parts = names.map(runAndTopic);
  const runs = new Set(
    [run, ...parts.map((each) => each.run)].filter((name) => name !== undefined),
  );
  if (runs.size > 1) {
    throw usageError(
      `a tap reads only one run, but you named ${runs.size}: ${[...runs].join(', ')}`,
    );
  }
  return { run: [...runs][0], patterns: parts.map(({ topic }) => topic) };
}

/** A name without a dot is a topic. */
function runAndTopic(name: string): { run: string | undefined; topic: string } {
  const dot = name.indexOf('.');
  if (dot < 0) return { run: undefined, topic: name };
  return { run: name.slice(0, dot), topic: name.slice(dot + 1) };
}

/**
 * The topics meant, in the order in which a run works, followed by those that its job defines itself: `there`
 * are the names in its log. Fails with code `NO_TOPIC`, listing the existing ones.
 */
export function topicsLike(
  patterns: readonly string[],
  there: readonly string[],
): readonly Topic<unknown>[] {
  const own = there.filter((name) => !topicNames.includes(name));
  const names = [...topicNames, ...own];
  const wanted = new Set(patterns.flatMap((pattern) => matching(pattern, names)));
  return [
    ...ours.filter(({ name }) => wanted.has(name)),
    ...own.filter((name) => wanted.has(name)).map(anyTopic),
  ];
}

/** Whether it may match several topics. */
export function isPattern(topic: string): boolean {
  return /[*?]/.test(topic);
}

function matching(pattern: string, names: readonly string[]): readonly string[] {
  const source = literal(pattern).replaceAll('\\*', '.*').replaceAll('\\?', '.');
  const found = names.filter((name) => new RegExp(`^${source}$`).test(name));
  if (found.length > 0) return found;
  const meant = nearest(pattern, names);
  const what = isPattern(pattern) ? `no topic matches "${pattern}".` : `no topic "${pattern}".`;
  const hint = meant === null ? '' : ` Did you mean ${meant}?`;
  throw new MillraceError('NO_TOPIC', `${what}${hint} Topics: ${names.join(', ')}`);
}
