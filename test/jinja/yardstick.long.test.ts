/** Renderings against Jinja itself, and 72 templates of real models; skipped without Python and jinja2. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';
import { type Python, yardstick } from '../support/python.ts';
import { fixtures, type Renderings, renderAll, sources } from './cases.ts';

const script = fileURLToPath(new URL('oracle.py', import.meta.url));
const withJinja = yardstick(['jinja2']);

/** Our renderings next to Jinja's, where they are not the same. */
function differences(python: Python, folder: string): readonly string[] {
  const theirs = python.run(script, 'templates', folder, fixtures('conversations.jsonl'));
  const ours = renderAll(folder);
  expect(Object.keys(ours)).toEqual(Object.keys(theirs as Renderings));
  return Object.entries(theirs as Renderings).flatMap(([file, texts]) =>
    Object.entries(texts)
      .filter(([name, text]) => ours[file]?.[name] !== text)
      .map(([name]) => `${file}: ${name}`),
  );
}

withJinja('the committed expectations are Jinja’s', async (python) => {
  expect(python.run(script, 'sources', fixtures('sources.jsonl'))).toEqual(
    sources.map(({ text }) => text),
  );
  expect(differences(python, fixtures('templates'))).toEqual([]);
});

withJinja(
  '72 chat templates of real models render as transformers renders them',
  async (python) => {
    const base =
      process.env.MILLRACE_CACHE ??
      join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'millrace');
    let folder: string;
    try {
      folder = python.run(script, 'wheel', join(base, 'trl-1.16.0')) as string;
    } catch (error) {
      console.warn(
        `skipped: the templates cannot be downloaded (${String((error as Error).message).slice(-300)})`,
      );
      return;
    }
    expect(differences(python, folder)).toEqual([]);
  },
);
