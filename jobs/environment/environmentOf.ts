/**
 * The environment in a job's settings, as tools.
 *
 * Its actions are in every prompt, so a run keeps them (`environment.json` in its folder) and continues with
 * them, whatever the server says later; then, and in a replay, the server is not contacted before a rollout
 * begins.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { serverAddress } from '../../base/http/index.ts';
import { MillraceError, replaceFile, sleepClock } from '../../base/index.ts';
import {
  type EnvironmentAction,
  EnvironmentSessions,
  type EnvironmentTools,
  environmentAction,
  environmentActions,
  environmentTools,
} from '../../operators/tools/environment/index.ts';
import type { Task } from '../../topics/index.ts';
import type { JobContext } from '../defineJob.ts';
import { keptJson } from '../keptJson.ts';
import { keyOf } from '../tools/keyOf.ts';
import { ENVIRONMENT_SERVER, type EnvironmentSettings } from './settings.ts';

/** In a run's folder: the actions of its environment. */
export const ENVIRONMENT_FILE = 'environment.json';

/** The job's settings that affect it. */
interface Settings {
  readonly environment?: EnvironmentSettings;
  readonly toolCalls?: 'direct' | 'topics';
  readonly flywheel?: { readonly questions: number };
  readonly sft?: { readonly data: string };
}

/**
 * Null = the settings name no environment. The job's context owns the sessions. Fails with `USAGE`,
 * `ENVIRONMENT` or `INPUT_CHANGED`.
 */
export async function environmentOf(
  context: Pick<JobContext<Settings>, 'settings' | 'folder' | 'clock' | 'own' | 'print' | 'replay'>,
): Promise<EnvironmentTools | null> {
  const { settings, own } = context;
  const { environment } = settings;
  if (environment === undefined || environment.url === '') return null;
  checkGoesWith(settings);
  const { form, tool, show, characters, sessions: sessionsMax, waitMs, timeoutMs } = environment;
  const clock = sleepClock(context.clock);
  const place = {
    url: serverAddress(environment.url, ENVIRONMENT_SERVER),
    key: keyOf(context, environment.keyEnv, 'the environment’s'),
  };
  const asked = { ...place, form, tool, clock, timeoutMs };
  const actions = (await kept(context)) ?? (await described(asked, context));
  const sessions = new EnvironmentSessions({ ...place, clock, timeoutMs, sessionsMax, waitMs });
  const tools = environmentTools({ sessions, actions, show, charactersMax: characters });
  own(tools.begin);
  return tools;
}

/** Fails with `USAGE` for settings that exclude an environment. */
function checkGoesWith({ toolCalls, flywheel, sft }: Settings): void {
  if (toolCalls === 'topics')
    throw new MillraceError(
      'USAGE',
      'environment.url cannot be combined with toolCalls=topics: a session belongs to the process that runs the rollout. Leave out one of them',
    );
  // The flywheel rewrites trajectories, and an environment cannot take actions back.
  if (flywheel !== undefined && flywheel.questions > 0 && sft?.data === '')
    throw new MillraceError(
      'USAGE',
      'the flywheel cannot make demonstrations in an environment: set flywheel.questions=0, or give your own demonstrations (sft.data=FILE)',
    );
}

/** Fails with `USAGE` for roles that help a rollout by undoing actions, which an environment cannot do. */
export function checkWithoutHelp(helping: unknown): void {
  if (helping === undefined) return;
  throw new MillraceError(
    'USAGE',
    'the roles debugger, back-tracer and refiner undo what the policy did, which an environment cannot do: leave out either these roles or environment.url',
  );
}

/** Fails with `QUESTIONS_FILE` for a question that needs an environment if there is none. */
export function checkWorld(id: string, task: Task | null | undefined): void {
  if ((task?.world ?? '') === '') return;
  throw new MillraceError(
    'QUESTIONS_FILE',
    `question ${id} needs an environment (ALFWorld, WebShop, or a field task.world), but none is set: give its OpenEnv server (environment.url=http://host:8000, docs/environments.md), or leave the question out`,
    { context: { id } },
  );
}

async function described(
  asked: Parameters<typeof environmentActions>[0],
  { folder, print }: Pick<JobContext<unknown>, 'folder' | 'print'>,
): Promise<readonly EnvironmentAction[]> {
  const actions = await environmentActions(asked, new AbortController().signal);
  print(`tools of the environment at ${asked.url}: ${actions.map(({ name }) => name).join(', ')}`);
  await mkdir(folder, { recursive: true });
  await replaceFile(join(folder, ENVIRONMENT_FILE), `${JSON.stringify(actions, null, 1)}\n`);
  return actions;
}

async function kept({
  folder,
  replay,
}: Pick<JobContext<unknown>, 'folder' | 'replay'>): Promise<readonly EnvironmentAction[] | null> {
  const path = join(folder, ENVIRONMENT_FILE);
  const what = 'the actions of the environment of this run';
  const known = await keptJson(path, z.array(environmentAction), what);
  if (known === null && replay !== undefined) {
    throw new MillraceError(
      'INPUT_CHANGED',
      `${path}, which records ${what}, is missing, and a replay does not contact the server. Restore it`,
    );
  }
  return known;
}
