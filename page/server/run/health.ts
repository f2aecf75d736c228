/** What limits a run, or what is wrong with it, in one sentence. Pure. */
import { counted } from '../../../base/text/index.ts';
import { duration, percent } from '../../../summary/format/index.ts';
import type { Health, MillStage, RunHead } from '../../wire/index.ts';

/** A stage that is busy for a smaller share of its time limits nothing. */
const LIMITS = 0.5;
/** A stage that waits for a policy version for a larger share of its time is paced. */
export const PACED = 0.3;

export interface HealthParts {
  readonly head: RunHead;
  readonly stages: readonly MillStage[];
  readonly deadLetters: number;
  /** Which records cannot be read; empty for none. */
  readonly damage: string;
  /** Steps that taught the policy nothing, one sentence each. */
  readonly idle?: readonly string[];
}

export function healthOf(parts: HealthParts): Health {
  const health = withIdle(conditionOf(parts), parts.idle ?? []);
  if (parts.damage === '') return health;
  return { ...health, level: 'bad', text: `${parts.damage} ${health.text}`.trim() };
}

/** A run that learns nothing goes on, and ends, like any other. */
function withIdle(health: Health, idle: readonly string[]): Health {
  if (idle.length === 0) return health;
  const text = [health.text, ...idle.map(sentence)].join(' ').trim();
  return { ...health, level: health.level === 'good' ? 'note' : health.level, text };
}

function conditionOf({ head, stages, deadLetters }: HealthParts): Health {
  const { status, stateText } = head;
  // Damage is reported before this.
  const state = head.state === 'damaged' && status !== 'running' ? status : head.state;
  if (state === 'silent' || state === 'failed' || state === 'damaged')
    return { level: 'bad', text: sentence(stateText), stage: null };
  if (state === 'waiting' || state === 'stopped' || state === 'paused')
    return { level: 'note', text: sentence(stateText), stage: null };
  if (state === 'done') return { level: 'good', text: doneText(head, deadLetters), stage: null };
  const old = stages.find(({ isOld }) => isOld);
  if (old !== undefined) {
    return {
      level: 'bad',
      text: `${old.name} has been working on one record for ${duration(old.oldestMs / 1000)}, far longer than usual.`,
      stage: old.name,
    };
  }
  const { text, stage } = bottleneck(stages);
  const dead = deadLetters === 0 ? '' : ` ${counted(deadLetters, 'dead letter')}.`;
  return { level: deadLetters === 0 ? 'good' : 'note', text: text + dead, stage };
}

function bottleneck(stages: readonly MillStage[]): { text: string; stage: string | null } {
  const known = stages.filter((stage) => stage.shares !== null);
  const share = (stage: MillStage, of: 'busy' | 'starved' | 'blocked' | 'paced'): number =>
    stage.shares?.[of] ?? 0;
  const most = (of: 'busy' | 'paced' | 'blocked'): MillStage | undefined =>
    [...known].sort((a, b) => share(b, of) - share(a, of))[0];
  const blocked = most('blocked');
  const busiest = most('busy');
  // A stage that waits for the log half the time is not the limit if another never rests.
  const isBlocked =
    blocked !== undefined &&
    share(blocked, 'blocked') >=
      Math.max(LIMITS, busiest === undefined ? 0 : share(busiest, 'busy'));
  if (isBlocked) {
    const text = `Log-bound: ${blocked.name} waits ${percent(share(blocked, 'blocked'), 0)} of the time for its output to be written.`;
    return { text, stage: blocked.name };
  }
  if (busiest === undefined || share(busiest, 'busy') < LIMITS) {
    const paced = most('paced');
    if (paced !== undefined && share(paced, 'paced') >= PACED) {
      const text = `Paced: ${paced.name} waits ${percent(share(paced, 'paced'), 0)} of the time for the policy version that its questions need.`;
      return { text, stage: paced.name };
    }
    return {
      text: 'Nothing limits it: every stage waits for input most of the time.',
      stage: null,
    };
  }
  const trainer = known.find(({ to }) => to === 'weights');
  const isTrainer = busiest === trainer;
  const kind = isTrainer
    ? 'Training-bound'
    : makesRollouts(busiest)
      ? 'Generation-bound'
      : `Bound by ${busiest.name}`;
  const other = isTrainer ? known.find(makesRollouts) : trainer;
  const idle = other === undefined ? '' : idleText(other);
  return {
    text: `${kind}: ${busiest.name} busy ${percent(share(busiest, 'busy'), 0)} of the last half minute${idle}.`,
    stage: busiest.name,
  };
}

function makesRollouts({ to }: MillStage): boolean {
  return to === 'rollouts' || to === 'evolved';
}

function idleText({ name, shares }: MillStage): string {
  if (shares === null) return '';
  const [what, share] =
    shares.paced > shares.starved ? ['paced', shares.paced] : ['starved', shares.starved];
  return `; ${name} ${what} ${percent(share as number, 0)}`;
}

function doneText({ step }: RunHead, deadLetters: number): string {
  const steps = step === null || step === 0 ? 'Finished' : `Finished after step ${step}`;
  return deadLetters === 0 ? `${steps}.` : `${steps}. ${counted(deadLetters, 'dead letter')}.`;
}

function sentence(text: string): string {
  return text === '' ? '' : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
