/**
 * `npm run bench:retrieval`: dense retrieval over an index, compared with comparing every passage with every
 * query.
 *
 * The index is what `millrace retriever build` makes, of passages whose vectors are made here; the queries
 * are asked in a process of their own, whose memory is what is measured. The exact answers are computed by
 * usearch's own exhaustive search.
 */
import { fork } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { buildIndex } from '../operators/tools/retrieval/buildIndex.ts';
import { library } from '../operators/tools/retrieval/graph.ts';
import { MANIFEST, VECTORS } from '../operators/tools/retrieval/manifest.ts';
import { readRows } from '../operators/tools/retrieval/vectorFile.ts';
import { benchmark, count } from './options.ts';
import type { Answered, Ask } from './retrieval/asker.ts';
import { clusterEncoder, clusters } from './retrieval/clusters.ts';
import { folderOnDisk, print, type Row, timeMs } from './table.ts';

interface Options {
  readonly passages: number;
  readonly dimensions: number;
  readonly queries: number;
  readonly asked: number;
  readonly threads: number;
  readonly folder?: string;
  readonly json: boolean;
}

const options = benchmark(
  'npm run bench:retrieval',
  `Dense retrieval after encoding: recall@10 against exact search, queries a second in batches of 8, and the
memory of the process that answers. 1,000,000 passages of 384 dimensions take 3 GB on the disk and, on two cores, about ten minutes.`,
)
  .option('--passages <N>', 'passages in the index', count, 100_000)
  .option('--dimensions <N>', 'of a vector', count, 384)
  .option('--queries <N>', 'different queries, each compared with the exact answer', count, 200)
  .option('--asked <N>', 'queries that are timed', count, 4000)
  .option('--threads <N>', 'threads of search, and of building', count, 2)
  .option('--folder <FOLDER>', 'where the index lies or is to be kept (default: made and removed)')
  .parse()
  .opts<Options>();

const { passages, dimensions, queries, threads } = options;
const TOP = 10;
const AT_A_TIME = 8;
const GOAL = { recall: 0.97, perSecond: 800, bytes: 1e9 };
const { exactSearch, MetricKind } = library();
const { signal } = new AbortController();

async function build(folder: string): Promise<void> {
  async function* rows() {
    for (let i = 0; i < passages; i++) {
      const contents = `passage ${i} of the corpus, whose vector is made of its number`;
      yield { place: i + 1, passage: { id: String(i), contents } };
    }
  }
  let stage = '';
  await buildIndex({
    ...{ rows, corpus: { passages }, signal, threads, to: folder, encoderFolder: '' },
    encoder: clusterEncoder(clusters(passages, dimensions)),
    exactMax: 0,
    graphMax: 500_000,
    onProgress: (progress) => {
      if (progress.stage !== stage) console.error(`${progress.stage} …`);
      stage = progress.stage;
    },
    onRefused: () => undefined,
  });
}

/** The ids of the exact answers, best first, query by query. */
async function exact(folder: string): Promise<readonly (readonly number[])[]> {
  const of = clusters(passages, dimensions);
  const asked = new Float32Array(queries * dimensions);
  for (let i = 0; i < queries; i++) of.write('query', i, asked, i * dimensions);
  const path = join(folder, VECTORS);
  const file = await open(path, 'r');
  const best = Array.from({ length: queries }, () => [] as { row: number; distance: number }[]);
  const STEP = 50_000;
  for (let from = 0; from < passages; from += STEP) {
    const rows = await readRows(file, path, {
      ...{ dimensions, from, count: Math.min(STEP, passages - from) },
    });
    const found = exactSearch(rows, asked, dimensions, TOP, MetricKind.IP, threads);
    for (const [query, kept] of best.entries()) {
      for (let i = query * TOP; i < (query + 1) * TOP; i++)
        kept.push({ row: from + Number(found.keys[i]), distance: found.distances[i]! });
      kept.sort((a, b) => a.distance - b.distance).length = TOP;
    }
  }
  await file.close();
  return best.map((kept) => kept.map(({ row }) => row));
}

function answered(folder: string): Promise<Answered> {
  const ask: Ask = {
    ...{ folder, passages, dimensions, queries, threads, asked: options.asked },
    ...{ atATime: AT_A_TIME, top: TOP },
  };
  return new Promise((resolve, reject) => {
    const child = fork(new URL('./retrieval/asker.ts', import.meta.url));
    child.once('message', (message) => resolve(message as Answered));
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the asker ended with code ${code}`)));
    child.send(ask);
  });
}

function rowsOf(found: Answered, want: readonly (readonly number[])[], buildMs: number): Row[] {
  const hits = found.found.map(
    (ids, query) => ids.filter((id) => want[query]!.includes(Number(id))).length,
  );
  const recall = hits.reduce((sum, n) => sum + n, 0) / (queries * TOP);
  const perSecond = (1000 * options.asked) / found.ms;
  const cpuMs = found.cpuMs / options.asked;
  const what = `${passages} passages of ${dimensions} dimensions`;
  const built = buildMs === 0 ? '' : `built in ${(buildMs / 1000).toFixed(0)} s; `;
  return [
    {
      ...{ what: `recall@${TOP}, ${what}`, against: 'exact search', goal: GOAL.recall },
      ...{ ratio: recall, unit: '', ours: recall, theirs: 1 },
    },
    {
      ...{
        what: `queries, ${AT_A_TIME} at a time`,
        against: `${GOAL.perSecond} a second`,
        goal: 1,
      },
      ...{ ratio: perSecond / GOAL.perSecond, unit: 'queries/s' },
      ...{ ours: perSecond, theirs: GOAL.perSecond },
      note: `${cpuMs.toFixed(2)} ms of a processor each`,
    },
    {
      ...{ what: `queries, ${AT_A_TIME} at a time`, against: 'usearch alone', goal: null },
      ...{ ratio: found.aloneMs / found.ms, unit: 'queries/s' },
      ...{ ours: perSecond, theirs: (1000 * options.asked) / found.aloneMs },
      note: 'which gives rows: no exact scores, no passages',
    },
    {
      ...{ what: 'resident memory after them', against: '1 GB', goal: 1, atMost: true },
      ...{ ratio: found.residentBytes / GOAL.bytes, unit: 'MB' },
      ...{ ours: found.residentBytes / 1e6, theirs: GOAL.bytes / 1e6 },
      note: `${built}opened in ${(found.openMs / 1000).toFixed(1)} s`,
    },
  ];
}

const folder = options.folder ?? folderOnDisk('retrieval');
try {
  const buildMs = existsSync(join(folder, MANIFEST)) ? 0 : await timeMs(() => build(folder));
  const want = await exact(folder);
  print('bench:retrieval', rowsOf(await answered(folder), want, buildMs), options.json);
} finally {
  if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
}
