/**
 * What an episode does as released (`reference`), and with the release's defects repaired: one object of
 * rules per mode.
 */

import type { ToolDoc } from '../../base/functions/index.ts';
import type { EpisodeMode } from './episode.ts';
import { lenientJson } from './lenientJson.ts';
import { pythonJson } from './pythonJson.ts';

/** See above. */
export interface EpisodeRules {
  /** Length of a text in the context; `tokens` counts its tokens. */
  length(text: string, tokens: () => number): number;
  /** The policy's observation when it searches although its tools are listed. */
  searchOfListed(): string;
  /** Whether the policy reads why a search failed, or only that nothing was found. */
  readonly showsFailedSearch: boolean;
  /** Which part of a long list it reads, given the auxiliary model's pick; null = the pick itself. */
  picked(pick: string, found: readonly ToolDoc[]): readonly ToolDoc[] | null;
  /** What the memories are made from for the tools that it may call. */
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
