/** The example of the README renders what its comment says. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import * as jinja from '../../jinja/index.ts';

test('the example of jinja/README.md renders what its comment says', () => {
  const readme = readFileSync(
    fileURLToPath(new URL('../../jinja/README.md', import.meta.url)),
    'utf8',
  );
  const [, code = ''] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
  const [, body = '', last = '', said = ''] =
    /^import .*\n\n([\s\S]*\n)(runs\..*); \/\/ '(.*)'\n$/.exec(code) ?? [];
  const run = new Function('compile', 'convert', `${body} return ${last};`);
  expect(run(jinja.compile, jinja.convert)).toBe(said.replaceAll('\\n', '\n'));
  expect(said).not.toBe('');
});
