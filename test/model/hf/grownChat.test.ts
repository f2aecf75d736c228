/**
 * Conversations grown call by call: the tokens after the policy's own, and where they are not the template's
 * whole.
 */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import type { ChatMessage } from '../../../model/chat/chatTemplate.ts';
import { chatDifference, checkChatTools, growChat } from '../../../model/chat/grownChat.ts';
import type { LoadedTokenizer } from '../../../model/tokenizers/loadedTokenizer.ts';
import { loadTokenizer } from '../../../model/tokenizers/loadTokenizer.ts';
import { temporaryFolder } from '../../support/folder.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
const fixture = fileURLToPath(new URL('fixtures/tokenizer', import.meta.url));

let made = 0;
/** The tokenizer of the fixture with another chat template. */
async function withTemplate(template: string): Promise<LoadedTokenizer> {
  const path = join(folder.path, String(made++));
  cpSync(fixture, path, { recursive: true });
  writeFileSync(join(path, 'chat_template.jinja'), template);
  return loadTokenizer(path);
}

const HEAD = `
{%- if tools %}{{- '<|im_start|>system\\n' }}{% for tool in tools %}{{ tool | tojson }}
{% endfor %}{{- '<|im_end|>\\n' }}{% endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}
{{- '<|im_start|>user\\n<result>' ~ message.content ~ '</result><|im_end|>\\n' }}
{%- else %}
{{- '<|im_start|>' ~ message.role ~ '\\n' }}`;
const TAIL = `
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{% endif %}`;
const CALLS = `
{%- for call in message.tool_calls or [] %}{{- '<tool_call>' ~ (call.function | tojson) ~ '</tool_call>' }}{% endfor %}`;

const KEEPS = `${HEAD}{{- message.content }}${CALLS}${TAIL}`;
/** As several families do: what was thought before the last answer is left out. */
const DROPS = `${HEAD}
{%- if message.role == 'assistant' and not loop.last %}{{- message.content.split('</think>')[-1] }}
{%- else %}{{- message.content }}{% endif %}${CALLS}${TAIL}`;

const TOOLS = [{ type: 'function', function: { name: 'search', parameters: { type: 'object' } } }];
const QUESTION: ChatMessage = { role: 'user', content: 'How far is the town?' };
const CALL: ChatMessage = {
  role: 'assistant',
  content: '<think>hm</think>',
  tool_calls: [{ function: { name: 'search', arguments: { query: 'town' } } }],
};
const RESULT: ChatMessage = { role: 'tool', content: '12 km</result><|im_end|>' };
const OPENED = { tools: TOOLS, addGenerationPrompt: true };

/** What the policy wrote in place of CALL. */
const OWN =
  '<think>hm</think><tool_call>{"name": "search", "arguments": {"query": "town"}}</tool_call>';

function grown(tokenizer: LoadedTokenizer, own: string, turnEnded: boolean): Int32Array {
  const prompt = tokenizer.encodeChat([QUESTION], OPENED);
  const policy = tokenizer.encode(own);
  const more = growChat(tokenizer, [QUESTION, CALL], [RESULT], { tools: TOOLS, turnEnded });
  return Int32Array.from([...prompt, ...policy, ...more]);
}

test('a chat that grows call by call equals the template’s rendering of the whole', async () => {
  const tokenizer = await withTemplate(KEEPS);
  const messages = [QUESTION, CALL, RESULT];
  const whole = tokenizer.encodeChat(messages, OPENED);
  for (const [own, turnEnded] of [
    [`${OWN}<|im_end|>`, true],
    [OWN, false],
  ] as const) {
    const tokens = grown(tokenizer, own, turnEnded);
    expect(tokenizer.decode(tokens)).toBe(tokenizer.applyChatTemplate(messages, OPENED));
    expect([...tokens]).toEqual([...whole]);
    expect(chatDifference(tokenizer, tokens, messages, OPENED)).toBeNull();
  }
  // the tool's own words gave none of the tags that they spell
  const ends = [...whole].filter((token) => token === tokenizer.id('</result>'));
  expect(ends).toHaveLength(1);
});

test('a chat grows by a turn of the user too', async () => {
  const tokenizer = await withTemplate(KEEPS);
  const answer: ChatMessage = { role: 'assistant', content: '12 km.' };
  const more: ChatMessage = { role: 'user', content: 'And back?' };
  const tokens = growChat(tokenizer, [QUESTION, answer], [more], { turnEnded: true });
  expect(tokenizer.decode(tokens)).toBe(
    '\n<|im_start|>user\nAnd back?<|im_end|>\n<|im_start|>assistant\n',
  );
});

test('a difference is named if the template drops old thinking', async () => {
  const tokenizer = await withTemplate(DROPS);
  const tokens = grown(tokenizer, `${OWN}<|im_end|>`, true);
  expect(chatDifference(tokenizer, tokens, [QUESTION, CALL, RESULT], OPENED)).toMatchObject({
    message: 1,
    kind: 'thinking',
    grown: '<think>hm</think>',
    whole: '',
  });
});

test('a difference is named if the template rewrites arguments', async () => {
  const tokenizer = await withTemplate(KEEPS);
  const own = OWN.replace('{"query": "town"}', '{"query":"town"}');
  const tokens = grown(tokenizer, `${own}<|im_end|>`, true);
  const found = chatDifference(tokenizer, tokens, [QUESTION, CALL, RESULT], OPENED);
  expect(found).toMatchObject({ message: 1, kind: 'put in', whole: ' ' });
  expect([...tokens].slice(0, found?.token)).toEqual(
    [...tokenizer.encodeChat([QUESTION, CALL, RESULT], OPENED)].slice(0, found?.token),
  );
});

test('a difference is named if the same text has other tokens', async () => {
  const tokenizer = await withTemplate(KEEPS);
  const messages = [QUESTION];
  const letters = [...tokenizer.applyChatTemplate(messages)].flatMap((letter) => [
    ...tokenizer.encode(letter),
  ]);
  expect(chatDifference(tokenizer, letters, messages)).toMatchObject({ token: 0, kind: 'tokens' });
});

test('a template that loses what an agent needs is refused before anything runs', async () => {
  expect(checkChatTools(await withTemplate(KEEPS), TOOLS)).toBe('object');
  const text = KEEPS.replace(
    '(call.function | tojson)',
    '(call.function.name + call.function.arguments)',
  );
  expect(checkChatTools(await withTemplate(text), TOOLS)).toBe('text');
  const losing: Record<string, string> = {
    'the result of a tool': KEEPS.replace('~ message.content ~', '~'),
    'the arguments of a call': KEEPS.replace(CALLS, ''),
    'the tool search': KEEPS.replace('{% if tools %}', '{% if false %}').replace(
      '{%- if tools %}',
      '{%- if false %}',
    ),
  };
  for (const [what, template] of Object.entries(losing)) {
    const tokenizer = await withTemplate(template);
    expect(() => checkChatTools(tokenizer, TOOLS)).toThrow(
      `the chat template leaves out ${what}: it does not support tool calls`,
    );
  }
  const strict = await withTemplate(`{{ raise_exception('no tools here') }}`);
  expect(() => checkChatTools(strict, TOOLS)).toThrow('line 1: no tools here');
});

test('a template that does not end the policy’s turn cannot grow', async () => {
  const tokenizer = await withTemplate(
    '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}',
  );
  expect(() => growChat(tokenizer, [QUESTION, CALL], [RESULT], { turnEnded: true })).toThrow(
    'does not end message 1 with one of "<|im_end|>"',
  );
});
