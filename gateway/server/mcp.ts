/**
 * A session's MCP servers over streamable HTTP, by the official SDK: tools are listed and called, in either
 * generation of the protocol. Nothing is kept between requests.
 */
import { createMcpHandler, ProtocolError, Server } from '@modelcontextprotocol/server';
import { messageOf, outsideText } from '../../base/index.ts';
import type { McpTools } from '../conversation.ts';

/** Of JSON-RPC. */
const INTERNAL = -32603;

/** Answers one request to the server with this name; `text` is the body. */
export async function mcpAnswer(
  tools: McpTools,
  name: string,
  {
    url,
    headers,
    text,
  }: { readonly url: string; readonly headers: Headers; readonly text: string },
): Promise<{ readonly status: number; readonly headers: Headers; readonly text: string }> {
  const handler = createMcpHandler(() => serverOf(tools, name));
  try {
    const request = new Request(url, { method: 'POST', headers, body: text });
    const response = await handler.fetch(request);
    return { status: response.status, headers: response.headers, text: await response.text() };
  } finally {
    await handler.close();
  }
}

function serverOf(tools: McpTools, name: string): Server {
  const server = new Server({ name, version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', async () => ({
    tools: [...(await said(tools.list(name)))],
  }));
  server.setRequestHandler('tools/call', async ({ params }) => {
    const outcome = await said(tools.call(name, params.name, params.arguments ?? {}));
    if ('error' in outcome) throw new ProtocolError(outcome.error.code, outcome.error.message);
    return outcome.result;
  });
  return server;
}

/** What went wrong on our side or the server's, in words. */
async function said<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    throw new ProtocolError(INTERNAL, outsideText(messageOf(error)));
  }
}
