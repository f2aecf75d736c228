import { describe, expect, it } from '@jest/globals';
import { programName } from '../../cli/programName.ts';

const path = '/usr/bin:/usr/local/bin';
const called = (script: string, cwd: string) => programName({ script, cwd, path });

describe('a command that is printed begins with', () => {
  it.each([
    // npx, in a project and in a clone (npx makes a link of its own there)
    ['/my/project/node_modules/.bin/millrace', '/my/project', 'npx millrace'],
    ['/root/.npm/_npx/70cb/node_modules/.bin/millrace', '/src/millrace', 'npx millrace'],
    // installed for the whole system
    ['/usr/local/bin/millrace', '/my/project', 'millrace'],
    // npm start in a clone, and from a folder of it
    ['/src/millrace/dist/cli/main.js', '/src/millrace', 'npx millrace'],
    ['/src/millrace/dist/cli/main.js', '/src/millrace/examples', 'npx millrace'],
    // a script of the project
    ['/my/project/node_modules/millrace/dist/cli/main.js', '/my/project', 'npx millrace'],
    // neither: the script itself
    ['/src/millrace/dist/cli/main.js', '/src', 'node millrace/dist/cli/main.js'],
    ['/src/millrace/dist/cli/main.js', '/src/millrace-2', 'node ../millrace/dist/cli/main.js'],
    ['/a b/dist/cli/main.js', '/', "node 'a b/dist/cli/main.js'"],
    ['/elsewhere/millrace', '/elsewhere', 'node millrace'],
  ])('%s, typed in %s: %s', (script, cwd, expected) => {
    expect(called(script, cwd)).toBe(expected);
  });
});
