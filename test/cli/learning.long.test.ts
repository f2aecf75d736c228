/** A run that learns nothing says so at its end, and later too. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { temporaryFolder } from '../support/folder.ts';
import { fakeIo } from './support/fakeIo.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const settings = [
  ...['explore=4', 'keep=3', 'heldOut=2', 'rollouts=2', 'initialRollouts=2', 'rounds=1'],
  ...['batchGroups=1', 'concurrency=2', 'responseMax=80', 'mixedOnly=false'],
].flatMap((setting) => ['--set', setting]);
const nothing =
  /no step taught the policy anything \(step.*got the same reward.*no answer was right/;

let folder: ReturnType<typeof temporaryFolder>;
beforeAll(() => {
  folder = temporaryFolder();
});
afterAll(() => folder.remove());

async function millrace(...args: string[]) {
  const io = fakeIo(root);
  const code = await main([...args, '--runs', folder.path], io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}
const run = (job: string, name: string, ...more: string[]) =>
  millrace('run', `test/cli/fixtures/${job}.job.ts`, '--run', name, ...settings, ...more);

test('a run in which every group has one reward says at its end that nothing was learnt', async () => {
  const quiet = await run('hopeless', 'hopeless', '--quiet');
  expect(quiet.code).toBe(0);
  expect(quiet.err).toMatch(nothing);
  expect(quiet.err).toContain('no step taught');
  const json = await run('hopeless', 'again', '--json');
  const lines = json.out.split('\n').filter(Boolean);
  const warnings = lines.map((line) => JSON.parse(line)).filter(({ type }) => type === 'warning');
  expect(warnings.at(-1)).toMatchObject({ text: expect.stringMatching(nothing) });
  expect((await millrace('report', 'hopeless')).out.replaceAll('\n', ' ')).toMatch(nothing);
  const report = JSON.parse((await millrace('report', 'hopeless', '--json')).out);
  expect(report.warnings).toEqual([expect.stringMatching(nothing)]);
  const doctor = await millrace('doctor', 'hopeless');
  expect(doctor.out).toMatch(nothing);
  expect(doctor.out).toMatch(/the records of run hopeless are sound/);
  expect(doctor.code).toBe(0);
});

test('a run that learns has no such warning', async () => {
  const { code, err } = await run('tiny', 'tiny', '--quiet');
  expect([code, err]).toEqual([0, '']);
  expect((await millrace('report', 'tiny')).out).not.toMatch(/taught/);
  expect((await millrace('doctor', 'tiny')).out).toMatch(/^run tiny is sound/);
});
