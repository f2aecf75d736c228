import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { draws } from '../../base/draws.ts';
import { type ConversationForm, conversationForms } from '../../sources/conversationForms.ts';
import { conversationFiles, readConversations } from '../../sources/conversations.ts';
import { jsonElements } from '../../sources/jsonElements.ts';
import type { ChatTurn, DeadLetter, Demonstrations } from '../../topics/index.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-conversations-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function written(name: string, ...rows: readonly unknown[]): Promise<string> {
  const path = join(folder, name);
  const lines = rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row)));
  await writeFile(path, name.endsWith('.json') ? `[${lines.join(',\n')}]` : lines.join('\n'));
  return path;
}

async function all(given: string, form: ConversationForm = 'auto') {
  const values: Demonstrations[] = [];
  const dead: DeadLetter[] = [];
  for await (const item of readConversations(await conversationFiles(given, form), { round: 1 })) {
    if ('value' in item) values.push(item.value);
    else dead.push(item.deadLetter);
  }
  return { values, dead };
}

/** Who says what, calls as `name(arguments)`. */
function script({ question, kept }: Demonstrations): string[] {
  const [one] = kept;
  if (one!.turns.length === 0) return [`user: ${question.question}`, `assistant: ${one!.text}`];
  return one!.turns.map(({ role, text, calls, thinking, learnt }: ChatTurn) =>
    [
      `${role}${role === 'assistant' && !learnt ? ' (given)' : ''}:`,
      ...(thinking === '' ? [] : [`(${thinking})`]),
      ...(text === '' ? [] : [text]),
      ...calls.map((call) => `${call.name}(${call.arguments})`),
    ].join(' '),
  );
}

const tools = [{ name: 'search', parameters: { type: 'object' } }];

describe('rows of conversations', () => {
  test('in the Alpaca form have instruction and input as the user’s turn', async () => {
    const { values, dead } = await all(
      await written(
        'alpaca.jsonl',
        { instruction: 'Add.', input: '1 + 1', output: '2' },
        { instruction: 'Hi', output: 'Hello', system: 'S', history: [['a', 'b']] },
        { instruction: '', input: 'only input', output: 'x' },
      ),
    );
    expect(values.map(script)).toEqual([
      ['user: Add.\n1 + 1', 'assistant: 2'],
      ['system: S', 'user: a', 'assistant: b', 'user: Hi', 'assistant: Hello'],
      ['user: only input', 'assistant: x'],
    ]);
    expect(values[0]!.question).toMatchObject({ id: 'alpaca#1', source: 'alpaca', round: 1 });
    expect(dead).toEqual([]);
  });

  test('in the ShareGPT form may have calls and observations', async () => {
    const { values } = await all(
      await written('sharegpt.json', {
        conversations: [
          { from: 'human', value: 'Find.' },
          { from: 'function_call', value: '{"name": "search", "arguments": {"q": 1}}' },
          { from: 'observation', value: 'found' },
          { from: 'gpt', value: 'Done.' },
        ],
        system: 'S',
        tools: JSON.stringify(tools),
      }),
    );
    expect(values.map(script)).toEqual([
      ['system: S', 'user: Find.', 'assistant: search({"q":1})', 'tool: found', 'assistant: Done.'],
    ]);
    expect(JSON.parse(values[0]!.kept[0]!.functions)).toEqual(tools);
    expect(values[0]!.kept[0]).toMatchObject({ action: 'given', toolCalls: 1, text: 'Done.' });
  });

  test('in the OpenAI form may have parts, calls, thinking and weights', async () => {
    const { values } = await all(
      await written('openai.jsonl', {
        messages: [
          { role: 'developer', content: 'S' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'a' },
              { type: 'text', text: 'b' },
            ],
          },
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{"x":1}' } }],
            weight: 0,
          },
          { role: 'tool', content: 'r', tool_call_id: 'c' },
          { role: 'assistant', content: 'z', reasoning_content: 'hm' },
        ],
        tools,
      }),
    );
    expect(values.map(script)).toEqual([
      ['system: S', 'user: ab', 'assistant (given): f({"x":1})', 'tool: r', 'assistant: (hm) z'],
    ]);
    expect(values[0]!.kept[0]!.turns[3]).toMatchObject({ callId: 'c' });
  });

  test('that cannot be used become dead letters by file, line and field, and do not affect others', async () => {
    const good = { instruction: 'q', output: 'a' };
    const path = await written(
      'bad.jsonl',
      good,
      '{"instruction": ',
      { instruction: 'q' },
      { instruction: 3, output: 'a' },
      { conversations: [{ from: 'robot', value: 'x' }] },
      { conversations: [{ from: 'human', value: 'x' }] },
      {
        messages: [
          { role: 'user', content: [{ type: 'image_url' }] },
          { role: 'assistant', content: 'a' },
        ],
      },
      {
        conversations: [
          { from: 'human', value: 'x' },
          { from: 'function_call', value: 'nothing' },
        ],
      },
      { messages: [{ role: 'assistant', content: 'a' }] },
      { text: 'other' },
      { instruction: 'q', output: 'a', history: [['one']] },
      { instruction: 'q', output: 'a', tools: '{}' },
      good,
    );
    const { values, dead } = await all(path);
    expect(values.map(({ question }) => question.id)).toEqual(['bad#1', 'bad#13']);
    expect(
      dead.map(({ origin, place, field, reason }) => [origin === path, place, field, reason]),
    ).toEqual([
      [true, 2, '', expect.stringMatching(/^invalid JSON/)],
      [true, 3, 'output', 'is missing'],
      [true, 4, 'instruction', 'must be a string, not a number'],
      [
        true,
        5,
        'conversations[0].from',
        expect.stringMatching(/^is "robot"; it must be one of human/),
      ],
      [true, 6, 'conversations', 'has no answer to learn from'],
      [
        true,
        7,
        'messages[0].content[0]',
        'is a part of type image_url; only text can be trained on',
      ],
      [true, 8, 'conversations[1].value', expect.stringMatching(/^must be JSON with the name/)],
      [true, 9, 'messages', expect.stringMatching(/^must not begin with an answer/)],
      [true, 10, '', expect.stringMatching(/^has none of the fields messages/)],
      [true, 11, 'history[0]', expect.stringMatching(/^must be two strings/)],
      [true, 12, 'tools', expect.stringMatching(/^must be a list of functions/)],
    ]);
  });

  test('may have their form set, and come from several files', async () => {
    const one = await written('same.jsonl', { instruction: 'q', output: 'a' });
    const { values } = await all(`${one}, ${one}`, 'alpaca');
    expect(values.map(({ question }) => question.id)).toEqual(['same#1', 'same-2#1']);
    const { dead } = await all(one, 'openai');
    expect(dead).toMatchObject([{ field: 'messages', reason: 'is missing' }]);
    expect(conversationForms).toEqual(['auto', 'alpaca', 'sharegpt', 'openai']);
  });

  test('are found by name in a dataset_info.json, with its column names', async () => {
    await written('mine.jsonl', {
      dialog: [
        { who: 'me', what: 'q' },
        { who: 'it', what: 'a' },
      ],
      system: 'S',
    });
    const info = join(folder, 'dataset_info.json');
    const tags = { role_tag: 'who', content_tag: 'what', user_tag: 'me', assistant_tag: 'it' };
    const columns = { messages: 'dialog' };
    await writeFile(
      info,
      JSON.stringify({
        mine: { file_name: 'mine.jsonl', formatting: 'sharegpt', columns, tags },
        withSystem: {
          ...{ file_name: 'mine.jsonl', formatting: 'sharegpt', tags },
          columns: { ...columns, system: 'system' },
        },
        hub: { hf_hub_url: 'a/b' },
        pairs: { file_name: 'mine.jsonl', ranking: true },
      }),
    );
    expect((await all(`${info}#mine`)).values.map(script)).toEqual([['user: q', 'assistant: a']]);
    expect((await all(`${info}#withSystem`)).values.map(script)[0]).toContain('system: S');
    await expect(all(`${info}#hub`)).rejects.toThrow(
      /has no file_name; millrace does not download/,
    );
    await expect(all(`${info}#pairs`)).rejects.toThrow(/has preferences/);
    await expect(all(`${info}#none`)).rejects.toThrow(/has no dataset none; its datasets are mine/);
  });

  test('of a missing file stop at once', async () => {
    await expect(all(join(folder, 'nosuch.json'))).rejects.toThrow(/data file .* does not exist/);
    const csv = await written('other.csv', 'text,label', 'a,b');
    await expect(all(csv)).rejects.toThrow(/no column with conversations/);
  });
});

describe('a JSON array', () => {
  test('that is JSON Lines by mistake is read as JSON Lines', async () => {
    const path = join(folder, 'lines.json');
    await writeFile(
      path,
      '{"instruction": "q", "output": "a"}\n{"instruction": "r", "output": "b"}\n',
    );
    expect((await all(path)).values.map(({ question }) => question.id)).toEqual([
      'lines#1',
      'lines#2',
    ]);
  });

  test('that is truncated or has a bad element gives its other elements', async () => {
    const path = join(folder, 'cut.json');
    const good = '{"instruction": "a]", "output": "{\\"b\\\\\\""}';
    await writeFile(path, `\ufeff [${good}, {bad}, [], ${good}, {"instruction": "x`);
    const { values, dead } = await all(path);
    expect(values.map(script)).toEqual([
      ['user: a]', 'assistant: {"b\\"'],
      ['user: a]', 'assistant: {"b\\"'],
    ]);
    expect(dead.map(({ place, reason }) => [place, reason])).toEqual([
      [2, expect.stringMatching(/^invalid JSON/)],
      [3, 'an element must be a JSON object'],
      [5, 'the file ends before this element or the array is complete'],
    ]);
  });

  test('has the elements that JSON.parse finds, however it is chunked', async () => {
    const draw = draws('json', 1);
    let at = 0;
    const next = (below: number) => draw.integer(at++, below);
    const text = () =>
      Array.from({ length: next(12) }, () => '"\\[]{},: \nä🌊'.charAt(next(12))).join('');
    const value = (depth: number): unknown => {
      const kind = next(depth > 3 ? 3 : 5);
      if (kind === 0) return text();
      if (kind === 1) return next(1000) / 8;
      if (kind === 2) return [null, true, false][next(3)];
      if (kind === 3) return Array.from({ length: next(4) }, () => value(depth + 1));
      return Object.fromEntries(Array.from({ length: next(4) }, () => [text(), value(depth + 1)]));
    };
    for (const count of [0, 1, 7, 400]) {
      const list = Array.from({ length: count }, () => value(0));
      // one element longer than a chunk of the file
      if (count > 100) list.splice(5, 0, 'x"]'.repeat(60_000));
      for (const indent of [0, 2]) {
        const path = join(folder, 'random.json');
        await writeFile(path, JSON.stringify(list, null, indent));
        const found: unknown[] = [];
        for await (const element of jsonElements(path)) {
          expect(element.kind).toBe('text');
          if (element.kind === 'text') found.push(JSON.parse(element.text));
        }
        expect(found).toEqual(JSON.parse(JSON.stringify(list)));
      }
    }
  });

  test('refuses an element that is too long and goes on', async () => {
    const path = await written('long.json', { a: 'x'.repeat(200) }, { a: 'y' });
    const found = [];
    for await (const element of jsonElements(path, 100)) found.push(element);
    expect(found).toMatchObject([
      { kind: 'refused', place: 1 },
      { kind: 'text', place: 2 },
    ]);
  });
});
