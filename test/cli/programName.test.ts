import { describe, expect, it } from '@jest/globals';
import { commandNames } from '../../cli/commands/names.ts';
import { main, programFor } from '../../cli/program.ts';
import { asTyped, programName, runsElsewhere } from '../../cli/programName.ts';
import { fakeIo } from './support/fakeIo.ts';

const path = '/usr/bin:/usr/local/bin';
const called = (script: string, cwd: string) => programName({ script, cwd, path });

describe('a printed command', () => {
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
  ])('begins with %s, typed in %s: %s', (script, cwd, expected) => {
    expect(called(script, cwd)).toBe(expected);
  });
});

describe('a command in a text', () => {
  const typed = (text: string) => asTyped(text, { program: 'node ../m/main.js' });

  it('is called as the program is, wherever its name occurs and however often', () => {
    expect(typed('look: millrace doctor a, then (millrace run b)')).toBe(
      'look: node ../m/main.js doctor a, then (node ../m/main.js run b)',
    );
  });

  it.each([
    'another millrace process',
    'npx millrace run my/job.ts',
    'in /src/millrace run by hand',
    'millrace runs',
  ])('is not found in "%s"', (text) => expect(typed(text)).toBe(text));

  it('is found whichever command it is', async () => {
    const io = fakeIo('/');
    await main(['--help'], io);
    const help = io.stdout();
    const names = [...help.slice(help.indexOf('Commands:')).matchAll(/^ {2}([a-z]+)/gm)];
    expect(names.length).toBeGreaterThan(14);
    for (const [, name] of names) {
      expect(typed(`millrace ${name} x`)).toBe(`node ../m/main.js ${name} x`);
    }
  });

  it.each([
    ['millrace tap first.rollouts -n 3', 'npx millrace tap --runs ../r first.rollouts -n 3'],
    ['(millrace dlq ls first)', '(npx millrace dlq ls --runs ../r first)'],
    ['millrace run job.ts --run first', 'npx millrace run --runs ../r job.ts --run first'],
    ['millrace rewind RUN --into N', 'npx millrace rewind --runs ../r RUN --into N'],
    ['millrace diff --runs ../r a b', 'npx millrace diff --runs ../r a b'],
    // They name no run.
    ['millrace run --list shows; or --run NAME', 'npx millrace run --list shows; or --run NAME'],
    ['check it with `millrace doctor` and go on', 'check it with `npx millrace doctor` and go on'],
    ['go back with millrace rewind, and', 'go back with npx millrace rewind, and'],
    ['millrace model pull NAME', 'npx millrace model pull NAME'],
  ])('names the folder of runs if it is another: %s', (text, expected) => {
    expect(asTyped(text, { program: 'npx millrace', runs: '../r' })).toBe(expected);
  });

  it('is given --runs by no command but those that take it', async () => {
    // What these name is not in the folder, or is made there.
    const others = ['run', 'eval', 'try', 'unpack', 'plan', 'mcp'];
    for (const name of commandNames) {
      const program = await programFor([name], fakeIo('/'));
      const command = program.commands.find((one) => one.name() === name)!;
      const parts = command.commands.length === 0 ? [command] : command.commands;
      for (const part of parts) {
        const takes = part.options.some(({ long }) => long === '--runs');
        const called = part === command ? name : `${name} ${part.name()}`;
        const said = asTyped(`millrace ${called} first`, { program: 'it', runs: 'r' });
        if (!others.includes(name)) {
          expect(said).toBe(takes ? `it ${called} --runs r first` : `it ${called} first`);
        }
      }
    }
  });

  it.each([
    [['--runs', 'runs'], undefined],
    [['--runs=/home/ann/runs'], undefined],
    [['--runs', '../other'], '../other'],
    [['--runs', '/home/ann/mine/runs'], 'mine/runs'],
    [['--runs', '/elsewhere'], '/elsewhere'],
    [['--runs', '/home/ann'], '/home/ann'],
    [[], undefined],
  ])('names another folder as it is typed where the program was started: %j', (args, expected) => {
    expect(runsElsewhere(['tap', ...args], '/home/ann')).toBe(expected);
  });

  it('is called so in help, in hints on stdout and in errors of other floors', async () => {
    const io = fakeIo('/');
    await main(['tap', '--help'], io);
    expect(io.stdout()).toContain('\n  npx millrace tap first.rollouts');
    await main(['run', '--list'], io);
    expect(io.stdout()).toContain('npx millrace init JOB FOLDER');
  });
});
