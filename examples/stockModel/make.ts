/**
 * Makes what a stock-shaped model needs to learn in the quickstart's world: `npm run stock -- [FOLDER]`
 * (stock).
 *
 * - `start/`: the first policy, a Hugging Face folder that has never seen a tag (start.ts);
 * - `lessons.jsonl`: conversations that show tags and bad habits (lessons.ts);
 * - `corpus.jsonl`, `train.csv`, `heldout.csv`, `system.txt`: the world of a seed, and the system prompt;
 * - `sft.yaml`, `et-agent.yaml`: settings of the two jobs.
 *
 * Options: --seed N (1), --lessons N (8000).
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeWorld } from '../quickstart/world/files.ts';
import { lessons, SYSTEM } from './lessons.ts';
import { writeStart } from './start.ts';

const { values, positionals } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    lessons: { type: 'string', default: '8000' },
  },
  allowPositionals: true,
});
const folder = resolve(positionals[0] ?? 'stock');

await mkdir(folder, { recursive: true });
await writeStart(join(folder, 'start'));
await writeWorld(folder, Number(values.seed));
await writeFile(join(folder, 'system.txt'), `${SYSTEM}\n`);
const rows = [...lessons(Number(values.lessons))].map((row) => `${JSON.stringify(row)}\n`);
await writeFile(join(folder, 'lessons.jsonl'), rows.join(''));
for (const name of ['sft.yaml', 'et-agent.yaml']) {
  const text = await readFile(fileURLToPath(new URL(name, import.meta.url)), 'utf8');
  await writeFile(join(folder, name), text.replaceAll('FOLDER', folder));
}
console.error(`made ${folder}`);
