import OpenAI from 'openai';
import { DESCRIPTION, getWeather, NAME, PARAMETERS, QUESTION, SYSTEM } from './task.mjs';

const TOOL = { name: NAME, description: DESCRIPTION, parameters: PARAMETERS };
const client = ({ baseUrl, key }) => new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey: key });
const results = (calls, of) =>
  calls.map((call) => of(call, getWeather(JSON.parse(call.arguments))));

async function chat(how) {
  const { chat } = client(how);
  const messages = [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: QUESTION },
  ];
  for (;;) {
    const body = { model: 'policy', messages, tools: [{ type: 'function', function: TOOL }] };
    const { choices } = how.stream
      ? await chat.completions.stream(body).finalChatCompletion()
      : await chat.completions.create(body);
    const { message } = choices[0];
    messages.push(message);
    if (!message.tool_calls?.length) return message.content;
    for (const { id, function: called } of message.tool_calls) {
      const content = getWeather(JSON.parse(called.arguments));
      messages.push({ role: 'tool', tool_call_id: id, content });
    }
  }
}

async function runTools(how) {
  const tool = { ...TOOL, function: getWeather, parse: JSON.parse };
  const runner = client(how).chat.completions.runTools({
    model: 'policy',
    stream: how.stream,
    messages: [
      { role: 'system', content: SYSTEM },
      { role: 'user', content: QUESTION },
    ],
    tools: [{ type: 'function', function: tool }],
  });
  return runner.finalContent();
}

async function ask(how, body) {
  const { responses } = client(how);
  const tools = [{ type: 'function', strict: true, ...TOOL }];
  const whole = { model: 'policy', instructions: SYSTEM, tools, ...body };
  return how.stream ? responses.stream(whole).finalResponse() : responses.create(whole);
}

const callsOf = ({ output }) => output.filter(({ type }) => type === 'function_call');
const outputs = (response) =>
  results(callsOf(response), ({ call_id }, output) => ({
    type: 'function_call_output',
    call_id,
    output,
  }));

async function responses(how) {
  const input = [{ role: 'user', content: QUESTION }];
  for (;;) {
    const response = await ask(how, { input });
    if (callsOf(response).length === 0) return response.output_text;
    input.push(...response.output, ...outputs(response));
  }
}

async function previousResponse(how) {
  let response = await ask(how, { input: QUESTION });
  while (callsOf(response).length > 0) {
    response = await ask(how, { input: outputs(response), previous_response_id: response.id });
  }
  return response.output_text;
}

export const agents = { chat, runTools, responses, previousResponse };
