import { expect, test } from '@jest/globals';
import { type Seen, stateOf } from '../../summary/state.ts';

const starts = [{ startedMs: 0, endedMs: null }];
const works = { ended: false, silentMs: 100 };
const gone = { ended: false, silentMs: 60_000 };
const atMs = 100_000;

test.each<[string, 'running' | 'done' | 'stopped' | 'failed', Omit<Seen, 'atMs'>]>([
  ['live', 'running', { workers: [gone, works] }],
  ['paused', 'running', { workers: [works], paused: true }],
  ['silent', 'running', { workers: [gone] }],
  ['silent', 'running', { workers: [gone], paused: true }],
  ['done', 'done', { workers: [{ ended: true, silentMs: 5 }] }],
  ['stopped', 'stopped', { workers: [], paused: true }],
  ['failed', 'failed', { workers: [] }],
  ['damaged', 'done', { workers: [], damaged: true }],
  ['damaged', 'running', { workers: [gone], damaged: true }],
  ['live', 'running', { workers: [works], damaged: true }],
  // Who holds the log is known at once, what processes said last only after a while.
  ['silent', 'running', { workers: [works], writer: false }],
  ['damaged', 'running', { workers: [works], writer: false, damaged: true }],
  ['done', 'done', { workers: [], writer: false }],
  ['live', 'running', { workers: [], writer: true }],
])('a run is %s if its record says %s and %j', (state, status, seen) => {
  expect(stateOf({ status, starts }, { ...seen, atMs })).toBe(state);
});

test('a run that has just started is not taken for silent', () => {
  const seen = { workers: [], atMs: 3_000 };
  expect(stateOf({ status: 'running', starts }, seen)).toBe('waiting');
});
