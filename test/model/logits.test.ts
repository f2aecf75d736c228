/**
 * Logits of each architecture on random weights, in both lowerings, against transformers; skipped without it.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { parameterShapes, type Tensors } from '../../model/config.ts';
import { Graph } from '../../model/graph/graph.ts';
import { loadPolicy } from '../../model/hf/loadPolicy.ts';
import type { Policy } from '../../model/policyFile.ts';
import { decoderLogits } from '../support/decoderLogits.ts';
import { temporaryFolder } from '../support/folder.ts';
import { yardstick } from '../support/python.ts';
import { type GraphRunner, graphRunner } from './runtime/graphRunner.ts';
import { worstError } from './vectors.ts';

let folder: ReturnType<typeof temporaryFolder>;
let runner: GraphRunner;
// Not at once: of a file whose tests are all skipped jest runs no `afterAll`, and a worker would keep it from
// ending.
beforeAll(() => {
  folder = temporaryFolder();
  runner = graphRunner();
});
afterAll(async () => {
  await runner.close();
  folder.remove();
});

/** Longer than the original context of the scaled ones, shorter than what dynamic scaling leaves alone. */
const TOKENS = Array.from({ length: 56 }, (_, i) => (i * i * 7 + 3 * i + 1) % 61);
const FAMILIES = 10;

async function logits({ config, tensors }: Policy): Promise<ArrayLike<number>> {
  const graph = new Graph();
  const shapes = [...parameterShapes(config)];
  const parameters = shapes.map(
    ([name, shape]) => [name, graph.input(name, 'float32', shape)] as const,
  );
  graph.output('logits', decoderLogits(graph, config, new Map(parameters)));
  const session = await runner.open(graph.model(), { threads: 1 });
  const results = await session.run({
    ...feeds(tensors),
    tokens: { shape: [1, TOKENS.length], data: Int32Array.from(TOKENS) },
    rows: { shape: [TOKENS.length], data: Int32Array.from(TOKENS.keys()) },
  });
  await session.release();
  return results.logits!.data;
}

function feeds(tensors: Tensors) {
  return Object.fromEntries(tensors);
}

yardstick(['torch', 'transformers'])(
  'every family gives the logits that transformers gives',
  async (python) => {
    const asked = join(folder.path, 'tokens.json');
    writeFileSync(asked, JSON.stringify(TOKENS));
    const script = fileURLToPath(new URL('logits.py', import.meta.url));
    const theirs = python.run(script, folder.path, asked) as Record<string, number[]>;
    const errors: Record<string, number> = {};
    for (const [family, want] of Object.entries(theirs)) {
      const got = await logits(await loadPolicy(join(folder.path, family)));
      // logits are of the size of 1: the largest error, absolute below 1 and relative above
      errors[family] = worstError(got, want);
    }
    const wrong = Object.entries(errors).filter(([, error]) => !(error < 1e-4));
    expect(wrong).toEqual([]);
    expect(Object.keys(errors).length).toBe(FAMILIES);
  },
);
