// An agent of a few lines, without an SDK. It asks the question, and wants few sentences in the answer.
//
//     node agent.mjs chat|responses|messages
//
// Millrace gives it the question, an address and a key in its environment.
const { MILLRACE_QUESTION: question, OPENAI_API_KEY: key } = process.env;
const openai = process.env.OPENAI_BASE_URL;
const anthropic = process.env.ANTHROPIC_BASE_URL;
const TOKENS = 24;
const messages = [{ role: 'user', content: question }];

/** How each protocol is asked, and where it says what was said and whether that came to an end. */
const protocols = {
  chat: {
    url: `${openai}/chat/completions`,
    body: { model: 'policy', messages, max_tokens: TOKENS },
    read: ({ choices: [{ message, finish_reason }] }) => [
      message.content,
      finish_reason === 'stop',
    ],
  },
  responses: {
    url: `${openai}/responses`,
    body: { model: 'policy', input: messages, max_output_tokens: TOKENS },
    read: ({ output, status }) => [
      output.flatMap(({ content = [] }) => content.map(({ text }) => text)).join(''),
      status === 'completed',
    ],
  },
  messages: {
    url: `${anthropic}/v1/messages`,
    body: { model: 'policy', messages, max_tokens: TOKENS },
    read: ({ content, stop_reason }) => [
      content.map(({ text = '' }) => text).join(''),
      stop_reason === 'end_turn',
    ],
  },
};

async function post(url, body) {
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${key}`,
    'anthropic-version': '2023-06-01',
  };
  const reply = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(await reply.text());
  return reply.json();
}

const { url, body, read } = protocols[process.argv[2] ?? 'chat'];
const [said, ended] = read(await post(url, body));
const sentences = said.split('.').filter((part) => part.trim() !== '').length;
await post(process.env.MILLRACE_REWARD_URL, {
  value: 1 / Math.max(1, sentences),
  reason: `${sentences} sentences${ended ? '' : ', cut off'}`,
});
console.log(said);
