/** An episode over fakes: a scripted policy, a small library, an auxiliary model that is a function. */

import type { ToolDoc } from '../../base/functions/index.ts';
import type { Tokenizer } from '../../model/engine.ts';
import { callTools } from '../../operators/callTools.ts';
import { deepDialect } from '../../operators/deepAgent/deepDialect.ts';
import { type AskAuxiliary, episodeTools } from '../../operators/deepAgent/episodeTools.ts';
import type { EpisodeOptions } from '../../operators/deepAgent/growEpisode.ts';
import { growEpisodes } from '../../operators/deepAgent/growEpisodes.ts';
import type { Group, RolloutOptions } from '../../operators/rollout/options.ts';
import { pureTool, type Tool } from '../../operators/tools/tool.ts';
import { manualClock } from '../../testing/manualClock.ts';
import {
  type ScriptedPolicy,
  type ScriptLine,
  scriptedPolicy,
} from '../../testing/scriptedPolicy.ts';
import type { Question } from '../../topics/index.ts';
import { byteBpe } from './byteBpe.ts';
import { question } from './records.ts';
import { rolloutOptions } from './rolloutOptions.ts';

export const docs: readonly ToolDoc[] = ['weather', 'height', 'price'].map((name) => ({
  name: `get_${name}`,
  description: `Gives the ${name} of a place.`,
  parameters: {
    type: 'object',
    properties: { of: { type: 'string', description: 'Whose' } },
    required: ['of'],
  },
}));

export interface DeepFakes extends Partial<Omit<EpisodeOptions, 'dialect'>> {
  readonly tokenizer?: Tokenizer;
  readonly auxiliary?: AskAuxiliary;
  readonly answer?: (name: string, input: string) => string;
  readonly rollout?: Partial<Omit<RolloutOptions, 'branching'>>;
  readonly asked?: Question;
  readonly contextMax?: number;
}

export interface DeepEpisode {
  readonly group: Group;
  readonly engine: ScriptedPolicy;
  readonly options: RolloutOptions;
}

/** Says these replies one after the other; each request takes the next one. */
export function inTurn(...replies: readonly string[]): () => string {
  let next = 0;
  return () => replies[next++] ?? '<|im_end|>';
}

export const asked = question({ id: 'q', question: 'How high is Ulm?' });

/** Grows the group of one question, of one episode by default. */
export async function deepEpisode(
  script: (line: ScriptLine) => string,
  fakes: DeepFakes = {},
): Promise<DeepEpisode> {
  const { tokenizer = byteBpe(), auxiliary = async () => null, rollout, mode = 'repaired' } = fakes;
  const answer = fakes.answer ?? ((name, input) => JSON.stringify({ [name]: input }));
  const dialect = deepDialect({
    tokenizer,
    prompt: (message) => tokenizer.encode(message, { tags: false }),
    form: 'open',
    mode,
    first: (text) => ({ text: `${text}\nGo:`, anchor: 'Go:', at: text.length + 1 }),
  });
  const library = new Map<string, Tool>(
    docs.map(({ name, description }) => [
      name,
      pureTool(name, description, (input) => answer(name, input)),
    ]),
  );
  const tools = episodeTools({
    mode,
    seed: 7,
    library,
    retriever: {
      retrieve: async (queries) =>
        queries.map((query) =>
          docs
            .filter(({ description }) =>
              query.split(' ').some((word) => description.includes(word)),
            )
            .map(({ name, description }) => ({ id: name, contents: description, score: 1 })),
        ),
    },
    top: 2,
    auxiliary,
    auxiliaryMax: 4,
    memoryCharacters: 2000,
  });
  const engine = scriptedPolicy({ tokenizer, script, contextMax: fakes.contextMax ?? 20_000 });
  const clock = manualClock();
  const options = rolloutOptions(() => '', {
    samples: () => 1,
    responseMax: 8000,
    ...rollout,
    engine,
    dialect,
    tools: callTools(tools, { clock }),
    clock,
  });
  const grow = growEpisodes({
    mode,
    docs: new Map(docs.map((doc) => [doc.name, doc])),
    listed: () => null,
    actionLimit: 50,
    foldLimit: 3,
    contextLimit: 15_000,
    searchCharacters: 15_000,
    callCharacters: 5000,
    memoryCharacters: 2000,
    ...fakes,
    dialect,
  });
  const group = await grow(fakes.asked ?? asked, options, new AbortController().signal);
  return { group, engine, options };
}
