/** The dialects that hostile texts are tried in, over small tokenizers and chat templates. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from '@jest/globals';
import { dialectOf } from '../../../jobs/dialects/dialectOf.ts';
import { loadTokenizer } from '../../../model/tokenizers/loadTokenizer.ts';
import type { Dialect } from '../../../operators/dialect/dialect.ts';
import { tagsDialect } from '../../../operators/dialect/tagsDialect.ts';
import { writeByteBpe } from '../../support/byteBpe.ts';
import {
  HERMES_TOKENS,
  hermesTemplate,
  LLAMA_TOKENS,
  llamaTemplate,
} from '../../support/chatTemplates.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { paperTools } from '../../support/paperTools.ts';
import { tinyDialect } from '../../support/tinyWords.ts';

const checkpoint = await loadTokenizer(
  fileURLToPath(new URL('../../model/hf/fixtures/tokenizer', import.meta.url)),
);

/** A dialect, and what a policy writes in it before and after its results. */
export interface Case {
  readonly dialect: Dialect;
  readonly before: string;
  readonly behind: string;
  /** Calls in `before`. */
  readonly calls: number;
}

const inTags = (dialect: Dialect): Case => ({
  ...{ dialect, calls: 1 },
  before: '<think>a</think><search>q</search>',
  behind: '<think>b</think><answer>\\boxed{41}</answer>',
});

const root = temporaryFolder();
afterAll(() => root.remove());

/** Function calling over a template that writes calls in `call`, or in one for each tool. */
async function inChat(
  name: string,
  template: string,
  added: readonly string[],
  before: string,
  calls = 1,
): Promise<Case> {
  const folder = join(root.path, name);
  mkdirSync(folder);
  writeByteBpe(folder, template, { added, start: added[1]! });
  const tools = paperTools.map((tool) => ({ name: tool, about: 'A tool.' }));
  const dialect = await dialectOf({ name: 'native', folder, tools });
  return { dialect, before, behind: 'It is \\boxed{41}.', calls };
}

const hermesCall = (query: string) =>
  `<tool_call>\n{"name": "search", "arguments": {"query": "${query}"}}\n</tool_call>`;
const thinking = '<think>\na\n</think>\n\n';

export const cases: Readonly<Record<string, Case>> = {
  'tags of one token': inTags(tinyDialect(paperTools)),
  'tags of many tokens': inTags(
    tagsDialect({
      tokenizer: checkpoint,
      tools: [...paperTools, 'shell'],
      prompt: (question) => checkpoint.encode(question, { tags: false }),
    }),
  ),
  'Hermes calls': await inChat(
    'hermes',
    hermesTemplate(),
    HERMES_TOKENS,
    thinking + hermesCall('one'),
  ),
  'two Hermes calls': await inChat(
    'hermes2',
    hermesTemplate(),
    HERMES_TOKENS,
    `${thinking}${hermesCall('one')}\n${hermesCall('two')}`,
    2,
  ),
  'Llama calls': await inChat(
    'llama',
    llamaTemplate,
    LLAMA_TOKENS,
    '{"name": "search", "parameters": {"query": "one"}}',
  ),
};
