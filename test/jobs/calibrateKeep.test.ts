import { expect, test } from '@jest/globals';
import { calibrate } from '../../jobs/calibrate/calibrate.ts';
import { calibrateSettings } from '../../jobs/calibrate/settings.ts';
import { flow } from '../../streams/flow.ts';

/** What the method prints when it is wired over this many questions. */
function printed(given: object, train: number): string[] {
  const lines: string[] = [];
  const nothing = flow();
  const parts = { begun: nothing, rolled: nothing, scored: nothing, trained: nothing };
  const context = { seed: 1, print: (line: string) => void lines.push(line) };
  const loop = { ...parts, watched: nothing, context, rollout: (source: unknown) => source };
  const method = calibrate(calibrateSettings.parse(given));
  method({ train, before: [], seed: 1 }).wire(loop as never);
  return lines;
}

test('calibrate warns if it should keep more questions than it has candidates', () => {
  expect(printed({ keep: 99_999, explore: 8, batchGroups: 4 }, 100)).toEqual([
    'keep=99999 exceeds the 8 candidates of a round, so all that qualify are kept',
  ]);
  expect(printed({ keep: 8, explore: 8, batchGroups: 4 }, 100)).toEqual([]);
});

test('calibrate warns if a setting asks for more questions than there are', () => {
  expect(printed({ keep: 64, explore: 256, batchGroups: 50 }, 40)).toEqual([
    'explore=256 exceeds the 40 training questions, so each round uses all of them',
    'keep=64 exceeds the 40 candidates of a round, so all that qualify are kept',
    'batchGroups=50 exceeds the 40 groups of a round, so each step uses all of them',
  ]);
  // Kept questions that are rolled out twice are twice as many groups.
  expect(printed({ keep: 30, explore: 40, batchGroups: 50, epochs: 2 }, 40)).toEqual([]);
});
