/** An MCP server over stdio that adds two numbers, and writes each call that it runs into a file. */
import { appendFileSync } from 'node:fs';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const file = process.argv[2];

serveStdio(() => {
  const server = new McpServer({ name: 'counting', version: '1' });
  const inputSchema = z.object({ a: z.number(), b: z.number() });
  server.registerTool('add', { description: 'Adds two numbers.', inputSchema }, ({ a, b }) => {
    appendFileSync(file, `${a}+${b}\n`);
    return { content: [{ type: 'text', text: String(a + b) }] };
  });
  return server;
});
