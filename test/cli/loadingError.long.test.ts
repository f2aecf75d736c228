/** Mistakes in a job's file: one message with the file and the line, and nothing of the loader's. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { builtMillrace, ROOT } from '../support/commandLine.ts';
import { freshFolders, temporaryFolder } from '../support/folder.ts';

const fresh = freshFolders();
const job = (build: string): string =>
  `import { defineJob } from 'millrace';\nimport { z } from 'zod';\n` +
  `export default defineJob({ name: 'x', about: 'y', settings: z.object({}),\n  async build() { ${build} } });\n`;

const temporary = temporaryFolder();
const folder = temporary.path;
afterAll(() => temporary.remove());
beforeAll(() => {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules', 'millrace'));
  symlinkSync(join(ROOT, 'node_modules', 'zod'), join(folder, 'node_modules', 'zod'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const files = {
    'syntax.ts': 'const a = 1;\nexport default { a oops };\n',
    'helper.ts': 'export const rate = ;\n',
    'viaHelper.ts': "import { rate } from './helper.ts';\nexport default rate;\n",
    'plain.mjs': 'const a = 1;\nconst b = a +* 2;\n',
    'missing.ts':
      "import { defineJob } from 'millrace';\nimport { thing } from '@scope/no-such/deep';\nexport default thing;\n",
    'missingFile.ts': "import { thing } from './nowhere.ts';\nexport default thing;\n",
    'noExport.ts':
      "\nimport { nothingLikeThis } from 'millrace';\nexport default nothingLikeThis;\n",
    'throws.ts': 'const table: any = undefined;\nexport default table.rows;\n',
    'text.ts': "throw 'nothing more';\n",
    'build.ts': job('const q: any = null; return q.questions;'),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
});

test.each([
  [
    'a syntax error',
    'syntax.ts',
    '(JOB): syntax error: HERE/syntax.ts:2:19: Expected "}" but found "oops"',
  ],
  [
    'a syntax error in a file that it imports',
    'viaHelper.ts',
    '(JOB): syntax error: HERE/helper.ts:1:20: Unexpected ";"',
  ],
  [
    'a syntax error in JavaScript',
    'plain.mjs',
    "(JOB): syntax error: HERE/plain.mjs:2: Unexpected token '*'",
  ],
  [
    'a package that is missing',
    'missing.ts',
    '(JOB): HERE/missing.ts:2: the package @scope/no-such is not installed; run: npm install @scope/no-such',
  ],
  [
    'a file that is missing',
    'missingFile.ts',
    '(JOB): HERE/missingFile.ts:1: file not found: HERE/nowhere.ts',
  ],
  [
    'a name that a module does not have',
    'noExport.ts',
    '(JOB): HERE/noExport.ts:2: millrace has no export nothingLikeThis',
  ],
  [
    'code that throws',
    'throws.ts',
    "(JOB): cannot load HERE/throws.ts: TypeError: Cannot read properties of undefined (reading 'rows') (HERE/throws.ts:2:22)",
  ],
  [
    'code that throws something other than an Error',
    'text.ts',
    '(JOB): HERE/text.ts threw nothing more',
  ],
  [
    'a build that throws',
    'build.ts',
    ": TypeError: Cannot read properties of null (reading 'questions') (HERE/build.ts:4:49)",
  ],
])('a job file with %s is explained by file and line', async (_, file, message) => {
  const { code, err } = await builtMillrace(folder, 'run', file, '--quiet').ended;
  expect([code, err.replaceAll(folder, 'HERE').trim()]).toEqual([
    1,
    `error ${message}`.replace('error :', 'error:'),
  ]);
});

test('a project without modules, or with a broken package.json, is explained', async () => {
  const plain = fresh();
  writeFileSync(join(plain, 'job.ts'), 'export default 1;\n');
  writeFileSync(join(plain, 'package.json'), '{}');
  const said = async () =>
    (await builtMillrace(plain, 'run', 'job.ts').ended).err.replaceAll(plain, 'HERE').trim();
  expect(await said()).toBe(
    'error (JOB): Node.js would not read HERE/job.ts as a module: rename it to job.mts, or put "type": "module" into HERE/package.json',
  );
  writeFileSync(join(plain, 'package.json'), '{oops');
  expect(await said()).toMatch(/^error \(JOB\): HERE\/package\.json is not valid JSON: .*$/);
});
