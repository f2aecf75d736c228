import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { checkSettings } from '../../cli/settings.ts';
import { readSettingsFile } from '../../cli/settingsFile.ts';
import { clusterSettings } from '../../simulate/plan/index.ts';
import { ROOT } from '../support/exports.ts';
import { temporaryFolder } from '../support/folder.ts';
import { tinyRun } from '../support/tinyRun.ts';
import { fakeIo } from './support/fakeIo.ts';

const temporary = temporaryFolder();
afterAll(() => temporary.remove());

async function plan(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const io = fakeIo(temporary.path);
  const code = await main(['plan', ...args, '--runs', temporary.path], io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

const cluster = `servers: { gpus: 1, tokensPerSecond: [[1, 100], [16, 800]] }
trainer:
  gpus: 1
  tokensPerSecond: 4000
rollout: { tokens: 200, calls: 1 }
job: { rollouts: 2, batchGroups: 4, concurrency: 8 }
`;

function file(name: string, text: string): string {
  writeFileSync(join(temporary.path, name), text);
  return name;
}

describe('millrace plan', () => {
  test('predicts a job on a described cluster, for each division of GPUs and lag that is asked for', async () => {
    const name = file('small.yaml', cluster);
    const args = [name, '--split', '1+1,2+1', '--lag-max', '0,1', '--steps', '3'];
    const { code, out } = await plan(...args, '--set', 'tools.seconds=2');
    expect(code).toBe(0);
    expect(out).toMatch(/^ +1 \+ 1 +1 \+ 1 +2 \+ 1 +2 \+ 1\nlagMax +0 +1 +0 +1\na step /);
    expect(out).toMatch(/\nbottleneck +\S/);
    expect(out).toMatch(/\nsteps a day\n1 \+ 1 +lagMax 0 +\S+ +█+\n/);
  });

  test('takes the files of the examples', async () => {
    const examples = readdirSync(join(ROOT, 'examples', 'plan')).map((name) =>
      join(ROOT, 'examples', 'plan', name),
    );
    expect(examples.length).toBe(3);
    for (const one of examples) {
      const read = await readSettingsFile(one, clusterSettings, temporary.path);
      expect(checkSettings(clusterSettings, read)).toMatchObject({ rollout: { tokens: 2500 } });
    }
  });

  test('names file, line and field of what is wrong in a file', async () => {
    const wrong = file(
      'wrong.yaml',
      cluster.replace('tokensPerSecond: 4000', 'tokensPerSecond: -1'),
    );
    const { code, err } = await plan(wrong);
    expect(code).toBe(2);
    expect(err).toMatch(/trainer\.tokensPerSecond: .*\(wrong\.yaml:4, given: -1\)/);
    const unknown = file('unknown.yaml', cluster.replace('calls: 1', 'call: 1'));
    expect((await plan(unknown)).err).toMatch(
      /rollout\.call: no such setting; did you mean rollout\.calls.*\(unknown\.yaml:5\)/,
    );
    const missing = file('missing.yaml', cluster.replace('  gpus: 1\n', ''));
    expect((await plan(missing)).err).toMatch(/trainer\.gpus: /);
    expect((await plan()).err).toMatch(/takes files that describe clusters, or a run: --from RUN/);
    expect((await plan(wrong, '--split', '4')).code).toBe(2);
  });

  test('learns a cluster from a run, and says when there is nothing to learn', async () => {
    await tinyRun(temporary.path, 'short', {});
    const { code, err } = await plan('--from', 'short');
    expect({ code, err }).toMatchObject({
      code: 1,
      err: expect.stringMatching(/learn from a run of a real engine/),
    });
  });
});
