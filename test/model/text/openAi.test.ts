import { afterEach, describe, expect, it } from '@jest/globals';
import { type OpenAiOptions, openAi } from '../../../model/text/openAi.ts';
import { GO_ON } from '../../../model/text/openAiWire.ts';
import type { TextModel, TextRequest } from '../../../model/text/textModel.ts';
import { impatientClock } from '../../support/impatientClock.ts';
import {
  answer,
  type Behaviour,
  inTurn,
  reset,
  type ScriptedServer,
  scriptedServer,
} from '../../support/scriptedServer.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function served(
  behave: Behaviour,
  options: Partial<OpenAiOptions> = {},
): Promise<{ readonly server: ScriptedServer; readonly model: TextModel }> {
  const server = await scriptedServer(behave);
  const model = openAi({
    urls: [server.url],
    model: 'm',
    server: 'vllm',
    api: 'completions',
    template: (system, prompt) => `<s>${system ?? ''}|${prompt}|`,
    clock: impatientClock(),
    ...options,
  });
  open.push(server, model);
  return { server, model };
}

function request(more: Partial<TextRequest> = {}): TextRequest {
  return {
    draws: [1, 'q1', 'judge/0'],
    system: 'S',
    prompt: 'P',
    continuation: '<think>so',
    stop: ['</search>', '</answer>'],
    maxTokens: 7,
    temperature: 0.6,
    ...more,
  };
}

const completion = (choice: Readonly<Record<string, unknown>>) => answer({ choices: [choice] });
const message = (content: unknown) => completion({ message: { content } });

describe('a request to /v1/completions', () => {
  it('is the templated text up to the continuation, with every sampling parameter', async () => {
    const { server, model } = await served(completion({ text: ' it is' }));
    expect(await model.complete(request({ topK: 20, topP: 0.95 }))).toBe(' it is');
    expect(server.seen[0]!.path).toBe('/v1/completions');
    expect(server.seen[0]!.body).toEqual({
      model: 'm',
      prompt: '<s>S|P|<think>so',
      max_tokens: 7,
      temperature: 0.6,
      top_p: 0.95,
      top_k: 20,
      min_p: 0,
      repetition_penalty: 1,
      stop: ['</search>', '</answer>'],
      include_stop_str_in_output: true,
      add_special_tokens: false,
      seed: expect.any(Number),
      n: 1,
      stream: false,
    });
  });

  it('switches top-k off with -1', async () => {
    const { server, model } = await served(completion({ text: '' }));
    await model.complete(request());
    expect(server.seen[0]!.body).toMatchObject({ top_k: -1, top_p: 1 });
  });

  it('speaks SGLang’s dialect', async () => {
    const { server, model } = await served(completion({ text: '' }), { server: 'sglang' });
    await model.complete(request());
    expect(server.seen[0]!.body).toMatchObject({ no_stop_trim: true });
    expect(server.seen[0]!.body).not.toHaveProperty('include_stop_str_in_output');
    expect(server.seen[0]!.body).not.toHaveProperty('add_special_tokens');
  });

  it('holds nothing but OpenAI’s own fields for other servers', async () => {
    const { server, model } = await served(completion({ text: 'a</answer>b' }), {
      server: 'openai',
    });
    expect(await model.complete(request())).toBe('a</answer>');
    const fields = Object.keys(server.seen[0]!.body!).sort();
    expect(fields).toEqual(
      ['max_tokens', 'model', 'n', 'prompt', 'seed', 'stream', 'temperature', 'top_p'].sort(),
    );
    await expect(model.complete(request({ topK: 20 }))).rejects.toMatchObject({
      code: 'MODEL_UNSUPPORTED',
    });
  });

  it('carries a seed that depends only on the key and the continuation', async () => {
    const { server, model } = await served(completion({ text: '' }));
    const other = { draws: [2, 'q1', 'judge/0'] };
    for (const more of [{}, { maxTokens: 9 }, { continuation: 'x' }, other]) {
      await model.complete(request(more));
    }
    const [first, again, continued, another] = server.seen.map(({ body }) => body!.seed);
    expect(again).toBe(first);
    expect(new Set([first, continued, another]).size).toBe(3);
  });
});

describe('a request to /v1/chat/completions', () => {
  const messages = [
    { role: 'system', content: 'S' },
    { role: 'user', content: 'P' },
  ];
  const begun = { role: 'assistant', content: '<think>so' };

  it('has only messages if there is no continuation', async () => {
    const { server, model } = await served(message('yes'), { api: 'chat' });
    expect(await model.complete(request({ continuation: '' }))).toBe('yes');
    expect(server.seen[0]!.path).toBe('/v1/chat/completions');
    expect(server.seen[0]!.body).toMatchObject({ messages });
    expect(server.seen[0]!.body).not.toHaveProperty('continue_final_message');
  });

  it('continues the last message', async () => {
    const vllm = await served(message(''), { api: 'chat' });
    await vllm.model.complete(request());
    expect(vllm.server.seen[0]!.body).toMatchObject({
      messages: [...messages, begun],
      continue_final_message: true,
      add_generation_prompt: false,
    });
    const sglang = await served(message(''), { api: 'chat', server: 'sglang' });
    await sglang.model.complete(request());
    expect(sglang.server.seen[0]!.body).toMatchObject({ continue_final_message: true });
  });

  it('asks other servers to continue, and cuts what they repeat', async () => {
    const { server, model } = await served(message('<think>so it is'), {
      api: 'chat',
      server: 'openai',
    });
    expect(await model.complete(request())).toBe(' it is');
    expect(server.seen[0]!.body!.messages).toEqual([
      ...messages,
      begun,
      { role: 'user', content: GO_ON },
    ]);
  });

  it('takes further fields', async () => {
    const extra = { chat_template_kwargs: { enable_thinking: false } };
    const { server, model } = await served(message(''), { api: 'chat', extra });
    await model.complete(request());
    expect(server.seen[0]!.body).toMatchObject(extra);
  });
});

describe('a reply', () => {
  it('keeps its own beginning even if it equals the continuation', async () => {
    const { model } = await served(completion({ text: '<think>so again' }));
    expect(await model.complete(request())).toBe('<think>so again');
  });

  it.each([
    ['vLLM', { stop_reason: '</answer>' }],
    ['SGLang', { matched_stop: '</answer>' }],
  ])('gets back the stop string that %s trimmed', async (_, met) => {
    const { model } = await served(completion({ text: 'a', finish_reason: 'stop', ...met }));
    expect(await model.complete(request())).toBe('a</answer>');
  });

  it('gets no stop string twice, and none for a stop token', async () => {
    const { model } = await served(
      inTurn(
        completion({ text: 'a</answer>', stop_reason: '</answer>' }),
        completion({ text: 'a', stop_reason: 151645 }),
      ),
    );
    expect(await model.complete(request())).toBe('a</answer>');
    expect(await model.complete(request())).toBe('a');
  });

  it('is cut after the first stop string when the server went on', async () => {
    const { model } = await served(completion({ text: 'a</search>b</answer>' }));
    expect(await model.complete(request())).toBe('a</search>');
  });

  it('without a message is an empty text', async () => {
    const { model } = await served(message(null), { api: 'chat' });
    expect(await model.complete(request())).toBe('');
  });

  it.each([
    ['has no choices', answer({ choices: [] })],
    ['has no text', completion({ logprobs: null })],
    ['was aborted half way', completion({ text: 'half', finish_reason: 'abort' })],
    ['is null', answer('null')],
    ['is no JSON', answer('Internal')],
    ['does not come', reset],
  ])('that %s is requested again', async (_, broken) => {
    const { server, model } = await served(inTurn(broken, completion({ text: 'whole' })));
    expect(await model.complete(request())).toBe('whole');
    expect(server.seen).toHaveLength(2);
  });
});

describe('a model that is not available', () => {
  it('gives null with a line that says why', async () => {
    const lines: string[] = [];
    const report = (line: string) => void lines.push(line);
    const { model } = await served(inTurn(answer({ message: 'too long' }, 400), answer('', 500)), {
      report,
    });
    expect(await model.complete(request())).toBeNull();
    expect(await model.complete(request())).toBeNull();
    expect(lines[0]).toBe('m: no text for 1/q1/judge/0: refused, HTTP 400: too long');
    expect(lines[1]).toContain('HTTP 500');
  });

  it('is an error after many requests in a row, and not before', async () => {
    const { model } = await served(
      inTurn(answer('', 400), answer('', 400), completion({ text: 'a' }), answer('', 400)),
      { failuresMax: 3 },
    );
    const said = [];
    for (let i = 0; i < 5; i++) said.push(await model.complete(request()));
    expect(said).toEqual([null, null, 'a', null, null]);
    await expect(model.complete(request())).rejects.toMatchObject({ code: 'MODEL_DOWN' });
  });

  it('is an error at once if its name is wrong', async () => {
    const { model } = await served(answer({ message: 'The model `m` does not exist.' }, 404));
    await expect(model.complete(request())).rejects.toMatchObject({ code: 'MODEL_ACCESS' });
  });

  it.each([
    ['without a name', { model: '' }],
    ['of completions without a template', { template: undefined }],
  ])('is refused %s', (_, wrong) => {
    const options = { urls: ['http://h'], model: 'm', server: 'vllm', api: 'completions' } as const;
    const given = { ...options, clock: impatientClock(), ...wrong } as OpenAiOptions;
    expect(() => openAi(given)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });
});

describe('requests', () => {
  it('stay with one server, chosen by their text if no session is named', async () => {
    const servers = [
      await scriptedServer(completion({ text: 'a' })),
      await scriptedServer(completion({ text: 'b' })),
    ];
    open.push(...servers);
    const { model } = await served(answer(''), { urls: servers.map(({ url }) => url) });
    const ask = (prompt: string, continuation: string, session?: string) =>
      model.complete(request({ prompt, continuation, ...(session ? { session } : {}) }));
    expect(await ask('one', '')).toBe('a');
    expect(await ask('two', '')).toBe('b');
    expect(await ask('one', 'more')).toBe('a');
    expect(await ask('two', 'more')).toBe('b');
    expect(await ask('three', '', 'q')).toBe('a');
    expect(await ask('four', '', 'q')).toBe('a');
  });
});
