/**
 * The page's server with another pace, in a process of its own: `tsx bench/page/server.ts RUNS TICK_MS`.
 * Prints its link.
 */
import { processIo } from '../../cli/processIo.ts';
import { serveView } from '../../cli/view/view.ts';

const [runs = 'runs', tickMs = '500'] = process.argv.slice(2);
const open = { token: null, trustedOrigin: null };
const { link } = await serveView({ runs, port: 0 }, open, processIo(), { tickMs: Number(tickMs) });
process.stdout.write(`${link}\n`);
process.stdin.on('end', () => process.exit()).resume();
