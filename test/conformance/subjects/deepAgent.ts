/** DeepAgent: actions, the step function, folds, and how tools are described and found. */

import { functionName, type RawApi, type ToolDoc, toolDoc } from '../../../base/functions/index.ts';
import { standardName, unreserved } from '../../../base/functions/standardName.ts';
import { actionKey } from '../../../operators/deepAgent/actionKey.ts';
import type { EpisodeMode } from '../../../operators/deepAgent/episode.ts';
import { fencedAny, fencedJson } from '../../../operators/deepAgent/fencedText.ts';
import { foldPrompt } from '../../../operators/deepAgent/foldPrompt.ts';
import { historySteps } from '../../../operators/deepAgent/history.ts';
import type { Memories } from '../../../operators/deepAgent/memories.ts';
import { type MemoryKind, memoryIn } from '../../../operators/deepAgent/memories.ts';
import {
  type EpisodeEffect,
  firstState,
  nextState,
  type Step,
} from '../../../operators/deepAgent/nextState.ts';
import { actionBody, parseAction } from '../../../operators/deepAgent/parseAction.ts';
import { pythonJson } from '../../../operators/deepAgent/pythonJson.ts';
import { renderObservation } from '../../../operators/deepAgent/tags.ts';
import { dedupeHits } from '../../../operators/deepAgent/tools/dedupeHits.ts';
import {
  apiText,
  functionText,
  parameterText,
} from '../../../operators/deepAgent/tools/indexText.ts';
import { words } from '../../../operators/text/characters.ts';
import { argumentFault } from '../../../operators/tools/arguments.ts';
import { Part, type Subjects, subject } from '../subject.ts';

interface LoopArgs {
  readonly mode: EpisodeMode;
  readonly actions: number;
  readonly context?: number;
  readonly folds: number;
  readonly environment?: boolean;
  /** Replies in order; after the last one come empty ones. */
  readonly replies: readonly string[];
  /** What every call gives, and whether it failed. */
  readonly failing?: boolean;
  /** Words of the first prompt, and of the one after a fold. */
  readonly prompt?: number;
}

/** Most requests of a script: none of a vector comes near. */
const REQUESTS_MAX = 1000;

/** Carries a script out: what was done, in order, and what it came to. */
function scripted(args: LoopArgs): Part {
  const {
    mode,
    actions,
    context = 40_000,
    folds,
    environment = false,
    replies,
    failing = false,
    prompt = 10,
  } = args;
  const limits = {
    mode,
    actions,
    context,
    folds,
    environment,
    measure: (text: string) => words(text).length,
  };
  const did: string[] = [];
  let requests = 0;
  let auxiliary = 0;
  let final = false;
  let step: Step = nextState(firstState, { type: 'begun', size: prompt }, limits);
  while (step.effect.do !== 'finish' && requests < REQUESTS_MAX) {
    const effect: EpisodeEffect = step.effect;
    const { state } = step;
    if (effect.do === 'generate') {
      const text = replies[requests] ?? '';
      requests += 1;
      final = effect.final;
      step = nextState(state, { type: 'reply', text, size: words(text).length }, limits);
    } else if (effect.do === 'fold') {
      auxiliary += 3;
      did.push('fold');
      step = nextState(state, { type: 'folded', size: prompt }, limits);
    } else {
      const kind = effect.do;
      did.push(`${kind} ${effect.do === 'search' ? effect.query : effect.body}`);
      step = nextState(state, { type: 'observed', kind, text: 'seen', ok: !failing }, limits);
    }
  }
  const { state } = step;
  const { actions: counted, finished } = state;
  return new Part({
    did,
    requests,
    auxiliary,
    final,
    actions: counted,
    folds: state.folds,
    finished,
    limits: state.limits,
  });
}

export const deepAgentSubjects: Subjects = {
  'deep-action-body': subject<{ reply: string; tag: string; mode: EpisodeMode }>(
    ({ reply, tag, mode }) => actionBody(reply, tag, mode),
  ),
  'deep-action': subject<{ reply: string; output: string; mode: EpisodeMode }>(
    ({ reply, output, mode }) => parseAction(reply, output, mode),
  ),
  'deep-action-key': subject<{ body: string; mode: EpisodeMode }>(({ body, mode }) =>
    actionKey(body, mode),
  ),
  'deep-loop': subject<LoopArgs>(scripted),
  'deep-observation': subject<{ kind: 'search' | 'call' | 'notice'; text: string }>(
    ({ kind, text }) => renderObservation(kind, text),
  ),
  'deep-history': subject<{ output: string; last?: number }>(({ output, last }) =>
    historySteps(output, last),
  ),
  'deep-fence': subject<{ reply: string; any: boolean }>(({ reply, any }) =>
    any ? fencedAny(reply) : fencedJson(reply),
  ),
  'deep-fold-prompt': subject<{
    text: string;
    anchor: string;
    at: number;
    memories: Memories;
    mode: EpisodeMode;
  }>(({ memories, mode, ...first }) => foldPrompt(first, memories, mode)),
  'deep-memory': subject<{
    reply: string | null;
    kind: MemoryKind;
    mode: EpisodeMode;
    charactersMax: number;
  }>(({ reply, kind, ...how }) => memoryIn(reply, kind, how)),
  'deep-tool-name': subject<{ name: string }>(({ name }) => ({
    standard: standardName(name),
    unreserved: unreserved(standardName(name)),
  })),
  'deep-function-name': subject<{ api: string; tool: string }>(({ api, tool }) =>
    functionName(api, tool),
  ),
  'deep-tool-doc': subject<{ raw: RawApi; mode: EpisodeMode }>(({ raw, mode }) =>
    toolDoc(raw, mode),
  ),
  'deep-index-text': subject<{ raw: RawApi; doc: ToolDoc }>(({ raw, doc }) => ({
    api: apiText(raw),
    function: functionText(doc),
    parameters: parameterText(doc),
  })),
  'deep-dedupe': subject<{ hits: readonly (readonly [string, number])[]; top: number }>(
    ({ hits, top }) => dedupeHits(hits, ([key]) => key, top),
  ),
  'deep-arguments': subject<{ doc: ToolDoc; given: Record<string, unknown> }>(
    ({ doc, given }) => argumentFault(doc, given) === null,
  ),
  'python-json': subject<{ value: unknown; indent?: number }>(({ value, indent }) =>
    pythonJson(value, indent),
  ),
};
