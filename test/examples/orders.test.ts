/** The streams stand alone: an example outside machine learning, killed, resumed and replayed. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/folder.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

function orders(...given: readonly string[]): { readonly signal: string | null; out: string } {
  const args = ['--import', 'tsx', 'examples/orders/orders.ts', ...given];
  const { signal, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return { signal, out: stdout.trim() };
}

test('orders and payments give the same daily totals, killed or not, and again from the records', () => {
  const whole = orders(join(folder.path, 'whole'));
  const { days, cents } = JSON.parse(whole.out) as { days: number; cents: number };
  // A fifth of a hundred orders, every fifth, is paid with one cent.
  const all = Array.from({ length: 100 }, (_, i) => (i % 5 === 0 ? 1 : 100 + i));
  expect({ days, cents }).toEqual({ days: 25, cents: all.reduce((a, b) => a + b, 0) });
  const shop = join(folder.path, 'shop');
  expect(orders(shop, '--crash')).toEqual({ signal: 'SIGKILL', out: '' });
  expect(orders(shop).out).toBe(whole.out);
  expect(orders(shop, '--replay').out).toBe(whole.out);
});

test('the orders example imports nothing but the streams and RxJS', () => {
  const text = readFileSync('examples/orders/orders.ts', 'utf8');
  const imported = [...text.matchAll(/from '([^']+)'/g)].map(([, from]) => from!);
  expect(imported.filter((from) => !from.startsWith('node:')).sort()).toEqual([
    'millrace/streams',
    'rxjs',
  ]);
});

test('the streams mention no rollouts and no training', () => {
  const { stdout } = spawnSync('git', ['ls-files', 'streams/*.ts'], { encoding: 'utf8' });
  const files = stdout.split('\n').filter(Boolean);
  expect(files.length).toBeGreaterThan(50);
  const knowing = files.filter((file) => {
    const code = readFileSync(file, 'utf8').replace(
      /\/\*[\s\S]*?\*\/|\/\/.*$|cleanup\.policy/gm,
      '',
    );
    return /\b(rollouts?|advantages?|rewards?|polic(y|ies)|tokenizer|trainer|optimiser)\b/i.test(
      code,
    );
  });
  expect(knowing).toEqual([]);
});
