/**
 * `mlflow`: the metrics of a run as a run of an MLflow server, by its REST interface.
 *
 * MLflow's run is found by the tag `millrace.id`, and how far it goes is in the tag `millrace.cursor`, which
 * is written in one request with the metrics before it: nothing has to be kept here, and any machine can
 * continue. A request that is repeated after its reply was lost brings the same metrics (name, step, time,
 * value), which MLflow's databases keep once.
 */
import type { Stored } from '../../streams/index.ts';
import type { Metric } from '../../topics/index.ts';
import { parseCursor } from '../outside/cursor.ts';
import type { MetricTarget, RunAbout, RunEnd } from '../outside/exportMetrics.ts';
import type { PatientClient } from '../outside/patientClient.ts';
import { mlflowName, mlflowNumber, paramsOf } from './names.ts';

export interface MlflowOptions {
  readonly client: PatientClient;
  /** Name of the experiment; created if missing. */
  readonly experiment: string;
}

interface Tag {
  readonly key: string;
  readonly value: string;
}
interface MlflowRun {
  readonly info: { readonly run_id: string; readonly status: string };
  readonly data?: { readonly tags?: readonly Tag[]; readonly params?: readonly Tag[] };
}

const API = '/api/2.0/mlflow';
const PARAMS_MAX = 100;
const ID = 'millrace.id';
const CURSOR = 'millrace.cursor';
const STATUS = {
  running: 'RUNNING',
  done: 'FINISHED',
  stopped: 'KILLED',
  failed: 'FAILED',
} as const;

/** metrics → a run of MLflow. */
export function mlflow(
  about: RunAbout,
  { client, experiment }: MlflowOptions,
): MetricTarget & { readonly where: () => string } {
  let experimentId = '';
  let runId = '';
  const post = async <T>(path: string, body: unknown, signal: AbortSignal): Promise<T> => {
    const headers = { 'content-type': 'application/json' };
    const reply = await client.ask(`${API}/${path}`, JSON.stringify(body), signal, { headers });
    return JSON.parse(reply.text()) as T;
  };
  const update = (fields: object, signal: AbortSignal) =>
    post('runs/update', { run_id: runId, ...fields }, signal);
  return {
    where: () => `#/experiments/${experimentId}/runs/${runId}`,
    async open(signal) {
      experimentId = await experimentOf(experiment, client, post, signal);
      const known = await findRun(about, experimentId, post, signal);
      const { info, data } = known ?? (await makeRun(about, experimentId, post, signal));
      runId = info.run_id;
      const has = new Set(data?.params?.map(({ key }) => key));
      const lacks = paramsOf(about.settings).filter(({ key }) => !has.has(key));
      for (let at = 0; at < lacks.length; at += PARAMS_MAX) {
        const params = lacks.slice(at, at + PARAMS_MAX);
        await post('runs/log-batch', { run_id: runId, params }, signal);
      }
      if (info.status !== STATUS.running) await update({ status: STATUS.running }, signal);
      // If someone has changed it, the run is written again from the beginning.
      return parseCursor(data?.tags?.find(({ key }) => key === CURSOR)?.value ?? '');
    },
    async write(batch, after, signal) {
      const metrics = batch.map(metricOf);
      const tags = [{ key: CURSOR, value: JSON.stringify(after) }];
      await post('runs/log-batch', { run_id: runId, metrics, tags }, signal);
    },
    async close({ status, endedMs }: RunEnd, signal) {
      const end = status === 'running' || endedMs === null ? {} : { end_time: endedMs };
      await update({ status: STATUS[status], ...end }, signal);
    },
  };
}

type Post = <T>(path: string, body: unknown, signal: AbortSignal) => Promise<T>;

async function experimentOf(
  name: string,
  client: PatientClient,
  post: Post,
  signal: AbortSignal,
): Promise<string> {
  const query = `?experiment_name=${encodeURIComponent(name)}`;
  const path = `${API}/experiments/get-by-name${query}`;
  const reply = await client.ask(path, undefined, signal, { also: [404] });
  if (reply.ok) {
    const found = JSON.parse(reply.text()) as { experiment: { experiment_id: string } };
    return found.experiment.experiment_id;
  }
  const made = await post<{ experiment_id: string }>('experiments/create', { name }, signal);
  return made.experiment_id;
}

function idOf({ run, startedMs }: RunAbout): string {
  return `${run}@${startedMs}`;
}

async function findRun(
  about: RunAbout,
  experimentId: string,
  post: Post,
  signal: AbortSignal,
): Promise<MlflowRun | undefined> {
  const asked = {
    experiment_ids: [experimentId],
    filter: `tags.\`${ID}\` = '${idOf(about)}'`,
    max_results: 1,
  };
  const { runs = [] } = await post<{ runs?: MlflowRun[] }>('runs/search', asked, signal);
  return runs[0];
}

async function makeRun(
  about: RunAbout,
  experimentId: string,
  post: Post,
  signal: AbortSignal,
): Promise<MlflowRun> {
  const tags = {
    [ID]: idOf(about),
    'millrace.version': about.millrace,
    'millrace.job': about.job,
    'millrace.seed': String(about.seed),
    'mlflow.source.name': 'millrace',
  };
  const made = {
    experiment_id: experimentId,
    run_name: about.run,
    start_time: about.startedMs,
    tags: Object.entries(tags).map(([key, value]) => ({ key, value })),
  };
  return (await post<{ run: MlflowRun }>('runs/create', made, signal)).run;
}

function metricOf({ value: { name, step, value }, atMs }: Stored<Metric>) {
  return { key: mlflowName(name), value: mlflowNumber(value), timestamp: Math.floor(atMs), step };
}
