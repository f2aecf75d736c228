import { expect, test } from '@jest/globals';
import { calibrate, calibrateSettings } from '../../jobs/calibrate.ts';
import { flow } from '../../streams/flow.ts';

/** What the method prints when it is wired over so many questions. */
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

test('that more are to be kept than there are candidates is said', () => {
  expect(printed({ keep: 99_999, explore: 8 }, 100)).toEqual([
    'keep=99999 is more than the 8 candidates of a round: all that may be kept are kept',
  ]);
  // the questions there are, not those that were asked for
  expect(printed({ keep: 64, explore: 256 }, 40)[0]).toContain('the 40 candidates');
  expect(printed({ keep: 8, explore: 8 }, 100)).toEqual([]);
});
