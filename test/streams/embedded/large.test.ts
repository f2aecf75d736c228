import { statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { topics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { weights } from '../../support/weights.ts';

const temporary = temporaryFolder();
afterAll(() => temporary.remove());

const BYTES = 100e9;

test('a log of 100 GB is opened, read and written without reading it', async () => {
  const folder = join(temporary.path, 'large');
  const small = await openLog({ folder, mode: 'write' });
  await small.commit((tx) => {
    for (let version = 0; version < 500; version++)
      tx.append(topics.weights, weights(version, version));
  });
  await small.close();
  // A sparse file: what is not there takes no disk, and reading it all would take minutes.
  truncateSync(join(folder, 'log.mdb'), BYTES);

  for (const mode of ['read', 'write'] as const) {
    const log = await openLog({ folder, mode });
    const [newest] = await log.fetch(topics.weights, [{ partition: 0, offset: 499 }]);
    expect(newest!.value.version).toBe(499);
    if (mode === 'write') await log.commit((tx) => tx.append(topics.weights, weights(500, 500)));
    expect((await log.stats())[0]).toMatchObject({ records: mode === 'read' ? 500 : 501 });
    await log.close();
  }
  const { size, blocks } = statSync(join(folder, 'log.mdb'));
  expect(size).toBeGreaterThanOrEqual(BYTES);
  expect(blocks * 512).toBeLessThan(BYTES / 1000);
});
