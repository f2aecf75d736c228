/**
 * The gateway of `bench:gateway`, as built, in a process of its own: protocols, chat template, tokenizer, a
 * client of the model server, and a log on disk that each call is committed to. All that the process uses is
 * what the gateway costs.
 */
import { sleepClock, systemClock } from '../../base/index.ts';
import type { Asked, HostOptions, Opened, Used } from './messages.ts';

/** A module of the build, which is what users run; tsx compiles the sources differently. */
const built = <Module>(path: string): Promise<Module> =>
  import(new URL(`../../dist/${path}`, import.meta.url).href) as Promise<Module>;

const { gatewayServer, policyChat, Sessions } =
  await built<typeof import('../../gateway/index.ts')>('gateway/index.js');
const { Session } = await built<typeof import('../../gateway/sessions/session.ts')>(
  'gateway/sessions/session.js',
);
const { loadChatTokenizer } =
  await built<typeof import('../../model/hf/index.ts')>('model/hf/index.js');
const { RemoteEngine, vllm } =
  await built<typeof import('../../model/remote/index.ts')>('model/remote/index.js');
const { openAnyLog } = await built<typeof import('../../streams/index.ts')>('streams/index.js');
const { allTopics, topics } =
  await built<typeof import('../../topics/index.ts')>('topics/index.js');

const { folder, model, servedAs, log: logFolder } = JSON.parse(process.argv[2]!) as HostOptions;
const clock = sleepClock(systemClock);
const chat = policyChat(await loadChatTokenizer(folder), folder);
const log = await openAnyLog({
  ...{ at: logFolder, run: 'bench', mode: 'write', topics: allTopics },
});
const engine = await RemoteEngine.create({
  ...{ urls: [model], wire: vllm, model: servedAs, version: 0, clock },
  concurrencyMax: 2048,
});
const sessions = new Sessions('policy');
const failed = (error: unknown): void => {
  throw error;
};
const server = await gatewayServer({ sessions, clock, failed });
const { signal } = new AbortController();
const open = new Map<string, InstanceType<typeof Session>>();
let number = 0;

async function opened(count: number): Promise<Opened> {
  for (const [key, session] of open) {
    sessions.close(key);
    await session.end();
  }
  open.clear();
  for (let i = 0; i < count; i++) {
    const id = `q${number++}/explore-0/0`;
    const session = new Session({
      ...{ id, questionId: id, chat, engine, draws: [id], clock, signal },
      sampling: { temperature: 1 },
      limits: { calls: 64, answerTokens: 2048 },
      commit: (record) => log.commit((tx) => tx.append(topics.calls, record)).then(() => undefined),
    });
    open.set(sessions.open(session), session);
  }
  return { url: server.url, keys: [...open.keys()] };
}

function used(collect: boolean): Used {
  const { user, system } = process.cpuUsage();
  if (collect) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return { cpuMs: (user + system) / 1000, liveBytes: heapUsed + external };
}

process.on('message', (asked: Asked) => {
  if (asked.kind === 'used') process.send?.(used(asked.collect));
  else void opened(asked.count).then((answer) => process.send?.(answer));
});
// A normal exit, so that a profiler can write its results.
process.on('disconnect', () => process.exit(0));
process.send?.({});
