/**
 * From published weights to the first token of the new version, against reading their file once.
 *
 * The file is one policy file as the trainer saves it, and is in the system's cache. The engine is given
 * its digest, as a manifest has it, and checks it; without one is measured too. The time runs from `load` on
 * an idle engine to the first token of a prompt of 32: header, digest, session, swap, prefill, one step. What
 * the trainer takes to write the file, and the manifest's way through the log, come before.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadPolicy } from '../../model/hf/loadPolicy.ts';
import { savePolicy } from '../../model/policyFile.ts';
import { EmbeddedEngine } from '../../model/rollout/embeddedEngine.ts';
import { timeMs } from '../table.ts';
import { type AnyRow, atMost, type Bench, clock, weightsFolder } from './bench.ts';
import { prompt, request } from './sequences.ts';
import { SHAPES } from './shapes.ts';
import { inTurns } from './turns.ts';

const THREADS = 2;
const LIMIT_MS = 200;

export async function publishRows(bench: Bench): Promise<AnyRow[]> {
  const path = join(bench.folder, 'published.safetensors');
  const { sha256 } = await savePolicy(path, await loadPolicy(await weightsFolder(bench, '48M')));
  const options = { threads: THREADS, rowsMax: 64, contextMax: 512, prefixSlots: 64, clock };
  const engine = await EmbeddedEngine.create({ weights: path, ...options });
  const tokens = prompt(SHAPES['48M'], 'published', 32);
  let version = 0;
  const firstToken = (digest: string | null) => async () => {
    version++;
    const weights = { version, uri: path, digest };
    return timeMs(async () => {
      await engine.load(weights);
      await engine.generate(request(tokens, 1, version));
    });
  };
  const { medians, note } = await inTurns(bench.turns, {
    checked: firstToken(sha256),
    unchecked: firstToken(null),
    read: () => timeMs(() => readFile(path)),
  });
  await engine.close();
  const what = 'weights published to first token, 48M';
  const row = (name: string, ours: number, theirs: number, goal: number | null) => {
    const against = theirs === LIMIT_MS ? `${LIMIT_MS} ms` : 'reading the file once';
    return atMost(`${what}${name}`, against, { ours, theirs }, { unit: 'ms', goal, note });
  };
  const unchecked = ', digest not checked';
  return [
    row('', medians.checked, medians.read, 2),
    row('', medians.checked, LIMIT_MS, 1),
    row(unchecked, medians.unchecked, medians.read, null),
    row(unchecked, medians.unchecked, LIMIT_MS, null),
  ];
}
