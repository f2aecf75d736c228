/**
 * What an episode does as released (`reference`), and what it does with the release's defects repaired: one
 * object of rules per mode.
 */

import type { ToolDoc } from '../../base/functions/index.ts';
import type { EpisodeMode } from './episode.ts';
import { lenientJson } from './lenientJson.ts';
import { pythonJson } from './pythonJson.ts';

/** See above. */
export interface EpisodeRules {
  /** Length of a text in the context; `tokens` counts its tokens. */
  length(text: string, tokens: () => number): number;
  /** What the policy reads when it searches though its tools are listed. */
  searchOfListed(): string;
  /** Whether it reads why a search failed; else that nothing was found. */
  readonly showsFailedSearch: boolean;
  /** Which of a long list it reads, by what the auxiliary model picked; null = the pick as it is. */
  picked(pick: string, found: readonly ToolDoc[]): readonly ToolDoc[] | null;
  /** What the memories are made from of the tools that it may call. */
  toolsRemembered(available: readonly ToolDoc[]): string;
}

/** See above. */
export const episodeRules: Readonly<Record<EpisodeMode, EpisodeRules>> = {
  reference: {
    length: (text) => text.split(/\s+/u).filter((word) => word !== '').length,
    searchOfListed() {
      throw new Error('a search for tools where they are listed');
    },
    showsFailedSearch: false,
    picked: () => null,
    toolsRemembered: () => '',
  },
  repaired: {
    length: (_, tokens) => tokens(),
    searchOfListed: () => 'The tools are listed above; none can be searched for.',
    showsFailedSearch: true,
    picked(pick, found) {
      const picks = (lenientJson(pick) as readonly { readonly name?: unknown }[] | undefined) ?? [];
      const chosen = found.filter(({ name }) => picks.some((one) => one?.name === name));
      return chosen.length === 0 ? found : chosen;
    },
    toolsRemembered: pythonJson,
  },
};
