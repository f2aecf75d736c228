/**
 * The agents of `bench:gateway`, in a process of their own, so that what they cost is not counted: each holds
 * a conversation with a tool, in Chat Completions.
 */

/** Conversations to hold. */
export interface Talk {
  readonly url: string;
  /** A session's each. */
  readonly keys: readonly string[];
  /** Model calls of each. */
  readonly calls: number;
}

const WORDS =
  'the river runs through a town of seven bridges and nobody knows who built them'.split(' ');
const words = (count: number, from: number): string =>
  Array.from({ length: count }, (_, i) => WORDS[(from * 7 + i * 5) % WORDS.length]).join(' ');

const tools = [
  {
    type: 'function',
    function: {
      name: 'search',
      description: 'Searches the corpus.',
      parameters: { type: 'object', properties: { query: { type: 'string' } } },
    },
  },
];

async function talk(url: string, key: string, number: number, calls: number): Promise<void> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const messages: unknown[] = [{ role: 'user', content: words(150, number) }];
  for (let call = 0; call < calls; call++) {
    const body = JSON.stringify({ model: 'policy', messages, tools });
    const reply = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
    if (!reply.ok) throw new Error(await reply.text());
    const { choices } = (await reply.json()) as {
      choices: { message: { tool_calls?: { id: string }[] } }[];
    };
    const { message } = choices[0]!;
    const results = (message.tool_calls ?? []).map(({ id }) => ({
      ...{ role: 'tool', tool_call_id: id, content: words(150, number + call) },
    }));
    messages.push(message, ...results);
  }
}

process.on('message', ({ url, keys, calls }: Talk) => {
  const start = performance.now();
  void Promise.all(keys.map((key, i) => talk(url, key, i, calls))).then(() =>
    process.send?.({ ms: performance.now() - start }),
  );
});
