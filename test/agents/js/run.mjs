/**
 * Runs the agents of one file: `node run.mjs FILE`. Each line of stdin names one and how it is to run, each line of
 * stdout is what it said last, or its error.
 */
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const { agents } = await import(pathToFileURL(process.argv[2]).href);
const say = process.stdout.write.bind(process.stdout);
// What packages print is not an answer.
for (const kind of ['log', 'info', 'debug', 'warn']) console[kind] = console.error;
for await (const line of createInterface({ input: process.stdin })) {
  const { agent, ...how } = JSON.parse(line);
  try {
    say(`${JSON.stringify({ said: await agents[agent](how) })}\n`);
  } catch (error) {
    say(`${JSON.stringify({ error: String(error?.message ?? error) })}\n`);
  }
}
process.exit(0);
