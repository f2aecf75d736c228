/**
 * `npx tsx test/page/browser/recorded/record.ts LINK RUN OTHER`: records what the server that printed the
 * link (`millrace view`) answers of a run and of another that it is compared with.
 */
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type {
  QuestionData,
  ReplayData,
  ResultsData,
  RunsData,
} from '../../../../page/wire/index.ts';
import { type Recorded, recordedFile } from './recorded.ts';

const [link = '', run = '', other = ''] = process.argv.slice(2);
const { origin, searchParams } = new URL(link);
const headers = { authorization: `Bearer ${searchParams.get('t')}` };
const answers: Record<string, string> = {};
let folder = ' ';

async function add(path: string, query = ''): Promise<Buffer> {
  const response = await fetch(`${origin}${path}${query}`, { headers });
  const body = Buffer.from(await response.arrayBuffer());
  if (!response.ok) throw new Error(`${path}: ${response.status} ${body}`);
  // Where the runs were made is no one's business.
  const text = body
    .toString()
    .replaceAll(folder, 'runs')
    .replace(/"host":"[^"]*"/g, '"host":"box"');
  const kept = path.endsWith('.json') ? Buffer.from(text) : body;
  answers[path] = kept.toString('base64');
  return kept;
}

async function json<T>(path: string, query = ''): Promise<T> {
  return JSON.parse((await add(path, query)).toString()) as T;
}

const at = `/r/${run}`;
({ folder } = await json<RunsData>('/runs.json'));
const { examples } = await json<ResultsData>(`${at}/results.json`);
const { nowMs } = await json<RunsData>('/runs.json');
const question = encodeURIComponent(examples[0]!.question);
const { groups } = await json<QuestionData>(`${at}/q/${question}.json`);
const rollout = groups.at(-1)!.rollouts[0]!.ref;
const { steps } = await json<ReplayData>(`${at}/replay.json`);
const { version } = steps.at(-1)!;
const diff = `/diff/${run}..${other}`;
for (const path of ['/terms.json', `${at}.json`, `${at}/happened.json`, `${at}/topics.json`]) {
  await add(path);
}
await add(`${at}/metrics.json`, `?with=${other}&m=reward/mean,accuracy/mean,entropy/mean,loss`);
await add(`${at}/topics/rollouts.json`, '?limit=12');
await add(`${at}/rollouts.json`, '?n=30');
await add(`${at}/pareto.json`);
await add(`${at}/t/${rollout}.json`);
await add(`${at}/t/${rollout}/tokens.bin`);
await add(`${at}/weights/${version}.json`);
while (
  (await json<{ divergence: { state: string } }>(`${diff}.json`)).divergence.state === 'pending'
);

const views: Recorded['views'] = Object.entries({
  runs: '/',
  results: `${at}/results`,
  overview: at,
  happened: `${at}/happened`,
  metrics: `${at}/metrics?with=${other}`,
  topics: `${at}/topics`,
  tap: `${at}/topics/rollouts?limit=12`,
  rollouts: `${at}/rollouts`,
  pareto: `${at}/pareto`,
  question: `${at}/q/${question}`,
  trajectory: `${at}/t/${rollout}`,
  weights: `${at}/weights/${version}`,
  replay: `${at}/replay`,
  diff,
}).map(([name, path]) => ({ name, path }));
const recorded: Recorded = { nowMs, views, answers };
writeFileSync(recordedFile, gzipSync(JSON.stringify(recorded), { level: 9 }));
