/**
 * Text models as the roles of a method: the policy itself, a model on a server, or one of the job's own; each
 * samples in its own way.
 */
import { join } from 'node:path';
import { MillraceError, sleepClock } from '../base/index.ts';
import { type Sampling, samplingIn } from '../model/index.ts';
import {
  configuredTextModel,
  openReplies,
  type ReplyStore,
  samplingOf,
  type TextModel,
  type TextModelSettings,
  type TextSampling,
} from '../model/text/index.ts';
import type { Complete } from '../operators/evolve/index.ts';
import type { JobContext } from './defineJob.ts';
import type { PolicyParts } from './policyLoop.ts';
import { policyModel } from './policyModel.ts';

/**
 * A text model with its sampling, in the form that the flywheel calls; a request's own options take
 * precedence.
 */
export function completeWith(model: TextModel, sampling: TextSampling): Complete {
  return (request, signal) => model.complete({ ...sampling, ...request }, signal);
}

/**
 * The policy in training as a role: its newest version, sampled by these settings (usually those of
 * rollouts).
 */
export function policyRole(
  settings: Sampling & { readonly responseMax: number },
): (parts: PolicyParts) => Complete {
  const sampling = { ...samplingIn(settings), maxTokens: settings.responseMax };
  return (parts) => completeWith(policyModel(parts), sampling);
}

/**
 * The roles of a job whose models settings name: `roleOf(settings.critic, own)` is the model on the server
 * that the settings name, or `own` if they name none. Servers' replies are kept in the run's folder, so that
 * a resumed run asks nothing twice. Their file is opened by the first request: other processes of the run,
 * perhaps on other machines, must not map it.
 */
export function textRoles({
  folder,
  clock,
  own: owned,
  print,
}: Pick<JobContext<unknown>, 'folder' | 'clock' | 'own' | 'print'>): (
  settings: TextModelSettings,
  own?: () => TextModel,
) => Complete {
  let replies: ReplyStore | null = null;
  return (settings, own = noModel) => {
    if (settings.url !== '') replies ??= owned(openedLate(join(folder, 'replies.mdb')));
    const model = configuredTextModel(settings, {
      own,
      clock: sleepClock(clock),
      report: print,
      ...(replies === null ? {} : { replies }),
    });
    return completeWith(owned(model), samplingOf(settings));
  };
}

function openedLate(path: string): ReplyStore {
  let store: ReplyStore | null = null;
  const opened = () => {
    store ??= openReplies(path);
    return store;
  };
  return {
    get: (key) => opened().get(key),
    put: (key, reply) => opened().put(key, reply),
    close: async () => store?.close(),
  };
}

function noModel(): never {
  throw new MillraceError('USAGE', 'a role has no model: set its url and model');
}
