/**
 * Reports failed rollouts. Each is a record with its reason and the run goes on, so without a line a job
 * whose server answers nonsense would look like one that learns nothing.
 *
 * The first, the tenth, the hundredth … are reported: few lines, however many fail.
 */

import { outsideText } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import type { Rollout } from '../../topics/index.ts';

/** A function to call with each finished group. */
export function tellingFailures(
  report: (line: string) => void,
): (group: readonly Rollout[]) => void {
  let [rollouts, failed, tellAt] = [0, 0, 1];
  return (group) => {
    rollouts += group.length;
    for (const { id, status, reason } of group) {
      if (status !== 'failed') continue;
      failed += 1;
      if (failed < tellAt) continue;
      tellAt *= 10;
      const which =
        failed === 1 ? `rollout ${id} failed` : `rollouts are failing, most recently ${id}`;
      const many = `${failed} of ${counted(rollouts, 'rollout')} so far in this process`;
      report(
        `${which}: ${outsideText(reason)} (${many}; the rollouts topic has the reason of each)`,
      );
    }
  };
}
