/** An agent that asks the policy three times, and appends each answer to the file HEARD as it came. */
import { appendFileSync } from 'node:fs';

const { OPENAI_BASE_URL, OPENAI_API_KEY, MILLRACE_QUESTION, MILLRACE_ROLLOUT, HEARD } = process.env;
const headers = { 'content-type': 'application/json', authorization: `Bearer ${OPENAI_API_KEY}` };
const messages = [{ role: 'user', content: MILLRACE_QUESTION }];
for (let call = 0; call < 3; call++) {
  const body = JSON.stringify({ model: 'policy', messages });
  const reply = await fetch(`${OPENAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    headers,
    body,
  });
  if (!reply.ok) throw new Error(await reply.text());
  const { id, choices, usage } = await reply.json();
  const { message } = choices[0];
  const heard = {
    rollout: MILLRACE_ROLLOUT,
    call,
    id,
    content: message.content,
    tokens: usage.completion_tokens,
  };
  appendFileSync(HEARD, `${JSON.stringify(heard)}\n`);
  messages.push(message, { role: 'user', content: 'And then?' });
}
