/** The data of the scrubber: every step, what the last verification found, and the commands that go back. */
import { metricNames } from '../../../summary/index.ts';
import type { ReplayData, ReplayStep } from '../../wire/index.ts';
import { now } from '../run/moment.ts';
import { refOf } from '../run/refs.ts';
import type { RunView } from '../run/runView.ts';
import type { Asked } from './asked.ts';

const STEPS_MAX = 4096;

export async function data({ view }: Asked): Promise<ReplayData> {
  const { name, typed } = view.viewed;
  const steps = stepsOf(view);
  const at = `millrace replay ${name}`;
  const last = steps.at(-1)?.step ?? 0;
  return {
    ...(await view.frame(now, `millrace tap ${name}.weights`)),
    steps,
    total: view.timeline.total,
    verified: await view.viewed.verified(),
    commands: [
      { about: 'recompute every record and compare', command: typed(`${at} --verify`) },
      {
        about: 'score the same rollouts with another reward',
        command: typed(`${at} --from scored --set reward=accuracy --into ${name}-again`),
      },
      {
        about: 'continue from this step in a new run',
        command: typed(`millrace rewind ${name} --to step=${last} --into ${name}-from-${last}`),
      },
    ],
  };
}

/** The reward of the bucket that holds the step. */
function stepsOf({ timeline: { marks }, book }: RunView): ReplayStep[] {
  let every = 1;
  while (marks.length / every > STEPS_MAX) every *= 2;
  const reward = book.series(metricNames.reward);
  return marks
    .filter((mark, i) => i % every === 0 || mark === marks.at(-1))
    .map(({ step, version, atMs, position, digest }) => {
      return {
        step,
        version,
        atMs,
        ref: refOf(position),
        digest,
        reward: reward?.meanAt(step) ?? null,
      };
    });
}
