/**
 * Who grades which set. `papers` = the papers' own judge for every set; `deep-agent` = that of DeepAgent's
 * evaluation; `authors` = the grader of each benchmark's authors, and the papers' where they have none.
 */
import { deepAgent } from './deepAgent.ts';
import { gaia } from './gaia.ts';
import type { Grader } from './grader.ts';
import { hle } from './hle.ts';
import { papers } from './papers.ts';
import { simpleQa } from './simpleQa.ts';
import { webWalker } from './webWalker.ts';
import { xbench } from './xbench.ts';

/** The possible values of the setting `grader`. */
export const graderNames = ['papers', 'deep-agent', 'authors'] as const;
/** One of `graderNames`. */
export type GraderName = (typeof graderNames)[number];

/** By the name of the set (`source` of its questions). */
const byAuthors: Readonly<Record<string, Grader>> = {
  gaia,
  hle,
  simpleqa: simpleQa,
  webwalker: webWalker,
  xbench,
};

/** The grader for the questions of a set. */
export function graderOf(name: GraderName, source: string): Grader {
  if (name === 'deep-agent') return deepAgent;
  return name === 'authors' && Object.hasOwn(byAuthors, source) ? byAuthors[source]! : papers;
}
