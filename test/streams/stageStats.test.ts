import { expect, test } from '@jest/globals';
import { StageCounter } from '../../streams/run/stageStats.ts';
import { stage } from '../../streams/stage.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { topics } from '../../topics/index.ts';

test('the time of a stage is counted by what it was spent on, even while it lasts', () => {
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

test('a stage is blocked while it waits for the log, paced while it waits for the pace, and else busy', () => {
  const clock = manualClock();
  const work = stage('work', topics.questions, topics.questions, (source) => source, {
    inflightMax: 9,
  });
  const counter = new StageCounter(work, clock, { waiting: () => 0, oldestMs: () => 0 });
  counter.entered();
  counter.entered();
  counter.idle('paced', 1);
  clock.advance(5); // one of two waits for its version
  counter.idle('paced', 1);
  clock.advance(10); // both do
  counter.idle('paced', -1);
  counter.idle('finished', 1);
  clock.advance(20); // one is finished, one still waits
  counter.idle('paced', -1);
  clock.advance(40); // that one is worked on
  counter.idle('finished', 1);
  clock.advance(80); // both are finished
  counter.settled(2);
  counter.idle('finished', -2);
  clock.advance(160); // nothing
  expect(counter.stats()).toMatchObject({
    ...{ idleMs: 160, busyMs: 155, blockedMs: 80, pacedMs: 30 },
  });
  counter.entered();
  counter.idle('finished', 1);
  counter.startedOver();
  counter.entered();
  clock.advance(320); // a new one, and nothing left of the old
  expect(counter.stats()).toMatchObject({ blockedMs: 80, pacedMs: 30, busyMs: 475 });
});
