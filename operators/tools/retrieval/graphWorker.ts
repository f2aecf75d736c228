/** Entry of the worker that builds one graph over a stretch of the vectors. */
import { open } from 'node:fs/promises';
import type { Index } from 'usearch';
import { serve } from '../../../base/index.ts';
import { type GraphForm, newGraph } from './graph.ts';
import { readRows } from './vectorFile.ts';

export interface GraphStretch {
  readonly vectors: string;
  readonly from: number;
  readonly count: number;
}

let graph: Index | undefined;
let dimensions = 0;

serve({
  open(form: GraphForm) {
    graph = newGraph(form);
    dimensions = form.dimensions;
  },
  async add({ vectors, from, count }: GraphStretch) {
    const file = await open(vectors, 'r');
    try {
      const rows = await readRows(file, vectors, { dimensions, from, count });
      const keys = BigUint64Array.from({ length: count }, (_, i) => BigInt(from + i));
      graph?.add(keys, rows, 1);
    } finally {
      await file.close();
    }
  },
  save(path: string) {
    graph?.save(path);
  },
});
