/**
 * One suite over every kind of text model: the same policy in this process, and behind servers.
 */
import { afterAll, describe, expect, it } from '@jest/globals';
import type { PolicyEngine } from '../../../model/engine.ts';
import { enginePolicy } from '../../../model/text/enginePolicy.ts';
import { openAi } from '../../../model/text/openAi.ts';
import type { TextModel, TextRequest } from '../../../model/text/textModel.ts';
import { type ScriptLine, scriptedPolicy } from '../../../testing/scriptedPolicy.ts';
import { engineServer, type Message } from '../../support/engineServer.ts';
import { impatientClock } from '../../support/impatientClock.ts';
import { tinyWords } from '../../support/tinyWords.ts';

/**
 * What the policy is asked is in its context, and so are its own words: it says things that depend on both.
 */
function script({ context, draws }: ScriptLine): string {
  if (!context.startsWith('So What is')) return 'I is two';
  const word = ['one', 'two', 'three'][draws.integer(0, 3)]!;
  if (context.endsWith('look it')) return `up ${word}<|end|>`;
  return `I look it up<search>${word}</search>one<python>two</python><|end|>`;
}

const PROMPT = 'What is 2+2?';
const template = (system: string | undefined, prompt: string) => `${system ?? ''} ${prompt}\n`;
const chatTemplate = (messages: readonly Message[], open: boolean) => {
  const of = (role: string) => messages.find((each) => each.role === role)?.content;
  return template(of('system'), of('user')!) + (open ? '' : of('assistant'));
};

const engine = () => scriptedPolicy({ tokenizer: tinyWords, script, contextMax: 60 });
const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

async function served(
  api: 'completions' | 'chat',
  wrapped: PolicyEngine = engine(),
): Promise<TextModel> {
  const server = await engineServer({
    engine: wrapped,
    tokenizer: tinyWords,
    template: chatTemplate,
    bos: tinyWords.endToken,
  });
  const clock = impatientClock();
  const options = {
    urls: [server.url],
    model: 'base',
    server: 'vllm',
    api,
    template,
    clock,
  } as const;
  const model = openAi(options);
  closing.push(
    () => server.close(),
    () => model.close(),
  );
  return model;
}

const MODELS: readonly (readonly [string, () => TextModel | Promise<TextModel>])[] = [
  [
    'the engine of this process',
    () =>
      enginePolicy({
        engine: engine(),
        tokenizer: tinyWords,
        prompt: (prompt, system) => tinyWords.encode(template(system, prompt)),
      }),
  ],
  ['a server of completions', () => served('completions')],
  ['a chat server', () => served('chat')],
];

function request(more: Partial<TextRequest> = {}): TextRequest {
  return {
    draws: [1, 'q1', 'initial'],
    system: 'So',
    prompt: PROMPT,
    continuation: '',
    maxTokens: 30,
    temperature: 1,
    ...more,
  };
}

describe.each(MODELS)('%s', (_, make) => {
  it('completes a text up to its own end', async () => {
    const model = await make();
    expect(await model.complete(request())).toMatch(
      /^I look it up<search>(one|two|three)<\/search>one<python>two<\/python>$/,
    );
  });

  it('ends right after the first stop string, and keeps it', async () => {
    const model = await make();
    const stop = ['</python>', '</search>'];
    expect(await model.complete(request({ stop }))).toMatch(/^I look it up<search>\w+<\/search>$/);
    // A stop string that no token represents.
    expect(await model.complete(request({ stop: ['look it'] }))).toBe('I look it');
  });

  it('goes on after a continuation', async () => {
    const model = await make();
    expect(await model.complete(request({ continuation: 'I look it' }))).toMatch(
      /^up (one|two|three)$/,
    );
  });

  it('generates no more than it may', async () => {
    const model = await make();
    expect(await model.complete(request({ maxTokens: 2 }))).toBe('I look');
  });

  it('gives the same text for the same request, and another for another', async () => {
    const [one, other] = [await make(), await make()];
    const texts = async (model: TextModel, order: readonly number[]) => {
      const said: (string | null)[] = [];
      for (const i of order) said[i] = await model.complete(request({ draws: [1, `q${i}`] }));
      return said;
    };
    const forwards = await texts(one, [0, 1, 2, 3, 4, 5]);
    expect(await texts(other, [5, 3, 1, 0, 2, 4])).toEqual(forwards);
    expect(new Set(forwards).size).toBeGreaterThan(1);
  });

  it('gives null when the context leaves no room', async () => {
    const model = await make();
    expect(await model.complete(request({ prompt: 'What is one '.repeat(40) }))).toBeNull();
  });

  it('rejects with the reason of an aborted signal', async () => {
    const model = await make();
    const aborted = AbortSignal.abort(new Error('enough'));
    await expect(model.complete(request(), aborted)).rejects.toThrow('enough');
  });
});
