/**
 * `millrace/testing`: what a test of your own operator, tool or job needs instead of a log, a policy and
 * tools. Nothing here starts a process or reads a file.
 */
export { type FakeTools, type FakeToolsOptions, fakeTools } from './fakeTools.ts';
export { type ManualClock, manualClock } from './manualClock.ts';
export {
  type FakeCommit,
  type FakeReader,
  fakeReader,
  type OperatorRun,
  runOperator,
} from './runOperator.ts';
export {
  type ScriptedPolicy,
  type ScriptedPolicyOptions,
  type ScriptLine,
  scriptedPolicy,
  shuffledTurns,
} from './scriptedPolicy.ts';
