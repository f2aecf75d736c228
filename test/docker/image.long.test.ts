/**
 * What the image holds is enough for what the command line reads of the package: laid out here as
 * docker/Dockerfile copies it.
 */
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readyJobs } from '../../cli/readyJobs.ts';
import { ROOT, runOf } from '../support/commandLine.ts';
import { temporaryFolder } from '../support/folder.ts';

const temporary = temporaryFolder();
const at = (...names: string[]) => join(temporary.path, ...names);
const dockerfile = readFileSync(join(ROOT, 'docker/Dockerfile'), 'utf8');
afterAll(() => temporary.remove());

beforeAll(() => {
  const copies = [...dockerfile.matchAll(/^COPY --from=build (.+) (\S+)$/gm)];
  for (const [, sources = '', to = ''] of copies) {
    for (const source of sources.split(' ')) {
      const name = source.replace('/build/', '');
      const target = to.endsWith('/') ? join(to, name) : to;
      mkdirSync(dirname(at('app', target)), { recursive: true });
      cpSync(join(ROOT, name), at('app', target), { recursive: true });
    }
  }
  // As the image links them.
  symlinkSync(join(ROOT, 'node_modules'), at('app', 'node_modules'));
  mkdirSync(at('node_modules'));
  symlinkSync(at('app'), at('node_modules', 'millrace'));
  symlinkSync(join(ROOT, 'node_modules', 'zod'), at('node_modules', 'zod'));
  mkdirSync(at('data'));
});

const copied = readyJobs.filter(({ beside }) => beside !== null).map(({ name }) => name);

test.each(copied)(
  'millrace init %s in the image writes a job that can be run unchanged',
  async (name) => {
    const millrace = (...args: string[]) => runOf(at('app/dist/cli/main.js'), at('data'), ...args);
    const init = await millrace('init', name, name);
    expect([init.code, init.err]).toEqual([0, expect.stringMatching(/^run it with: .*job\.ts/m)]);
    const shown = await millrace('run', `${name}/job.ts`, '--show-settings');
    expect([shown.code, shown.err]).toEqual([0, '']);
  },
);
