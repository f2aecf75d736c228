/** `millrace retriever build --to qdrant://…`: a corpus into a collection of Qdrant. */

import { sleepClock } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import type { TextEncoder } from '../../model/encoder/index.ts';
import {
  type BuildOptions,
  type CorpusRow,
  fillQdrant,
  type Passage,
  QdrantClient,
  type QdrantPlace,
} from '../../operators/tools/retrieval/index.ts';
import type { Io } from '../io.ts';
import { qdrantKey } from './qdrantKey.ts';

interface FillOptions extends Pick<BuildOptions, 'signal' | 'onProgress' | 'onRefused'> {
  readonly collection: QdrantPlace;
  readonly rows: AsyncIterable<CorpusRow>;
  readonly encoder: TextEncoder;
}

/** Resolves with a line that says what it did. */
export async function fillCollection(options: FillOptions, { clock }: Io): Promise<string> {
  const { collection, rows, encoder, signal, onProgress, onRefused } = options;
  const client = new QdrantClient({ ...collection, key: qdrantKey(), clock: sleepClock(clock) });
  async function* passages(): AsyncGenerator<Passage> {
    for await (const row of rows) {
      if ('reason' in row) onRefused(row.place, row.reason);
      else yield row.passage;
    }
  }
  try {
    const { put, there } = await fillQdrant({
      ...{ client, encoder, signal, passages: passages() },
      onProgress: (done) => onProgress({ stage: 'encoding', done, before: 0, total: null }),
    });
    const before = there === 0 ? '' : `, ${there} of them from before`;
    return `indexed ${counted(put + there, 'passage')} in ${client.name}${before}\n`;
  } finally {
    client.close();
  }
}
