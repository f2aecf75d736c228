import { expect, test } from '@jest/globals';
import { StageCounter } from '../../streams/run/stageStats.ts';
import { stage } from '../../streams/stage.ts';
import { topics } from '../../streams/topics.ts';
import { manualClock } from '../../testing/manualClock.ts';

test('time is booked under what it was spent in, also while it goes on', () => {
  const clock = manualClock();
  const work = stage('work', topics.questions, topics.questions, (source) => source, {
    inflightMax: 2,
  });
  let waiting = 0;
  const counter = new StageCounter(work, clock, { waiting: () => waiting, oldestMs: () => 7 });
  clock.advance(5); // nothing to do
  counter.entered();
  clock.advance(10); // room for one more
  counter.entered();
  clock.advance(20); // full
  counter.committing(true);
  clock.advance(40); // full, and a commit is under way
  expect(counter.stats()).toMatchObject({ idleMs: 5, fullMs: 60, busyMs: 10, commitMs: 40 });
  counter.settled(2);
  counter.committing(false);
  clock.advance(80);
  counter.entered();
  waiting = 1; // it is held for others of its group: there is nothing to do but wait for them
  clock.advance(160);
  expect(counter.stats()).toMatchObject({
    idleMs: 245,
    fullMs: 60,
    busyMs: 10,
    commitMs: 40,
    waiting: 1,
    oldestMs: 7,
  });
});
