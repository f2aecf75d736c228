/**
 * The agents of `bench:gateway`, in a process of their own, so that what they cost is not counted: each holds
 * a conversation in Chat Completions with six functions, and gives a page of this repository's documentation
 * as the result of each call.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { draws } from '../../base/draws.ts';
import type { Talk, Talked } from './messages.ts';

/** Words in a tool's result, and in the first question. */
const RESULT_WORDS = 250;
const QUESTION_WORDS = 150;

const docs = fileURLToPath(new URL('../../docs', import.meta.url));
const words = readdirSync(docs)
  .filter((name) => name.endsWith('.md'))
  .map((name) => readFileSync(join(docs, name), 'utf8'))
  .join('\n')
  .split(/(?<=\s)/);

/** Tokens that a call asks for: a model's answers vary, so agents do not call in step. */
function tokensOf(conversation: number, turn: number): number {
  return 500 + draws('bench', 'answer', conversation).integer(turn, 1001);
}

/** Some text, different for every conversation and turn. */
function text(count: number, conversation: number, turn: number): string {
  const from = draws('bench', conversation).integer(turn, words.length - count);
  return words.slice(from, from + count).join('');
}

const SYSTEM =
  'You are a careful assistant who answers questions about a corpus of documents. Search before you answer, ' +
  'open what looks right, and say where you found it. Do not guess: if nothing is found, say so. Answer in ' +
  'one short paragraph, and name the documents in the order in which you used them.';

const parameters = (fields: Readonly<Record<string, readonly [type: string, about: string]>>) => ({
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(fields).map(([name, [type, description]]) => [name, { type, description }]),
  ),
  required: Object.keys(fields).slice(0, 1),
  additionalProperties: false,
});
const tools = [
  [
    'search',
    'Searches the corpus and gives the best passages, each with the id of its document.',
    {
      query: ['string', 'What to look for, in a few words'],
      limit: ['integer', 'Most passages to give'],
    },
  ],
  [
    'open_document',
    'Gives a document, or a part of it.',
    {
      id: ['string', 'Id of the document'],
      from_line: ['integer', 'First line'],
      to_line: ['integer', 'Last line'],
    },
  ],
  [
    'list_documents',
    'Lists the documents of a folder with their sizes and dates.',
    { folder: ['string', 'Path of the folder'], recursive: ['boolean', 'Folders below it too'] },
  ],
  [
    'python',
    'Runs a Python program and gives what it prints.',
    { code: ['string', 'The program'], timeout_s: ['number', 'How long it may take'] },
  ],
  [
    'calculate',
    'Computes an arithmetic expression exactly.',
    { expression: ['string', 'The expression, as Python writes it'] },
  ],
  [
    'note',
    'Keeps a note for later calls.',
    { text: ['string', 'The note'], topic: ['string', 'What it is about'] },
  ],
].map(([name, description, fields]) => ({
  type: 'function',
  function: { name, description, parameters: parameters(fields as never) },
}));

function askedFor(conversation: number, calls: number): number {
  return Array.from({ length: calls }, (_, i) => tokensOf(conversation, i + 1)).reduce(
    (sum, tokens) => sum + tokens,
    0,
  );
}

async function talk(url: string, key: string, number: number, calls: number): Promise<number> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const messages: unknown[] = [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: text(QUESTION_WORDS, number, 0) },
  ];
  let promptTokens = 0;
  for (let call = 1; call <= calls; call++) {
    const body = JSON.stringify({
      ...{ model: 'policy', messages, tools, max_tokens: tokensOf(number, call) },
    });
    const reply = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
    if (!reply.ok) throw new Error(await reply.text());
    const { choices, usage } = (await reply.json()) as {
      choices: { message: { tool_calls?: { id: string }[] } }[];
      usage: { prompt_tokens: number };
    };
    promptTokens += usage.prompt_tokens;
    const { message } = choices[0]!;
    const results = (message.tool_calls ?? []).map(({ id }) => ({
      ...{ role: 'tool', tool_call_id: id, content: text(RESULT_WORDS, number, call) },
    }));
    messages.push(message, ...results);
  }
  return promptTokens;
}

process.on('message', ({ url, keys, calls }: Talk) => {
  const start = performance.now();
  const callsOf = (i: number): number => calls[i % calls.length]!;
  void Promise.all(keys.map((key, i) => talk(url, key, i, callsOf(i)))).then((all) => {
    const talked: Talked = {
      ms: performance.now() - start,
      calls: keys.reduce((sum, _, i) => sum + callsOf(i), 0),
      promptTokens: all.reduce((sum, tokens) => sum + tokens, 0),
      longestTokens: Math.max(...keys.map((_, i) => askedFor(i, callsOf(i)))),
    };
    process.send?.(talked);
  });
});
process.send?.({});
