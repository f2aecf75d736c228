import { describe, expect, test } from '@jest/globals';
import { firstValueFrom } from 'rxjs';
import { type Moment, standingAfter } from '../../../streams/embedded/history.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { topics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { metric } from '../../support/records.ts';

describe('the history of a log', () => {
  test('gives the state right after any commit, even of a process that is gone', async () => {
    const folder = temporaryFolder();
    const first = await openLog({ folder: folder.path, mode: 'write' });
    await first.commit((tx) => {
      tx.append(topics.metrics, metric({ step: 1 }));
      tx.append(topics.metrics, metric({ step: 2 }));
      tx.mark('source/a', 2);
    });
    const delivery = await firstValueFrom(
      first.read(topics.metrics, { group: 'files', inflightMax: 1 }),
    );
    await first.commit((tx) => tx.settle(delivery));
    await first.close();
    const second = await openLog({ folder: folder.path, mode: 'write' });
    await second.commit((tx) => {
      tx.append(topics.metrics, metric({ step: 3 }));
      tx.mark('source/a', 3);
    });
    expect(await second.standing!({ topic: topics.metrics, offset: 1 })).toEqual({
      ends: { metrics: 2 },
      settled: {},
      marks: { 'source/a': 2 },
    });
    const after = await second.standing!({ topic: topics.metrics, offset: 2 });
    expect(after).toEqual({
      ends: { metrics: 3 },
      settled: { metrics: { files: { low: 1, above: [] } } },
      marks: { 'source/a': 3 },
    });
    expect(await second.standing!()).toEqual(after);
    await expect(second.standing!({ topic: topics.metrics, offset: 9 })).rejects.toThrow(
      'has no history for metrics@9',
    );
    await second.close();
    folder.remove();
  });

  test('is refused if it does not begin with the log', () => {
    const moments: Moment[] = [{ appended: { metrics: [5, 6] }, settled: [], marks: {} }];
    expect(() => standingAfter(moments, 'metrics', 5)).toThrow('kept none');
  });
});
