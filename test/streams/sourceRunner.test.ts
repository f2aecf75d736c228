import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { openLog } from '../../streams/embedded/openLog.ts';
import { flow } from '../../streams/flow.ts';
import type { Log } from '../../streams/log.ts';
import { runFlow } from '../../streams/runFlow.ts';
import { type SourceItem, source } from '../../streams/stage.ts';
import { topics } from '../../streams/topics.ts';
import { temporaryFolder } from '../support/folder.ts';
import { mortalLog } from '../support/mortalLog.ts';
import { metric } from '../support/records.ts';

let folder: ReturnType<typeof temporaryFolder>;
let log: Log;
beforeEach(async () => {
  folder = temporaryFolder();
  log = await openLog({ folder: join(folder.path, 'log'), mode: 'write' });
});
afterEach(async () => {
  await log.close();
  folder.remove();
});

const items = Array.from({ length: 500 }, (_, value) => ({ value: metric({ value }) }));

async function* standingStill(): AsyncGenerator<SourceItem<ReturnType<typeof metric>>> {
  yield items[0]!;
  await new Promise(() => undefined);
}

const values = async (): Promise<number[]> => {
  const stored$ = log.tap(topics.metrics, { from: { kind: 'earliest' }, follow: false });
  return (await lastValueFrom(stored$.pipe(toArray()))).map(({ value }) => value.value);
};

describe('a source whose commit fails', () => {
  test('fails with the reason, appends nothing after it, and goes on there at the next start', async () => {
    for (let commitsLeft = 0; commitsLeft < 4; commitsLeft++) {
      for (const lastIsWritten of [false, true]) {
        const { log: mortal } = mortalLog(log, { commitsLeft, lastIsWritten });
        const name = `items ${commitsLeft} ${lastIsWritten}`;
        const part = source(name, topics.metrics, items);
        const before = (await values()).length;
        await expect(runFlow(flow(part), { log: mortal })).rejects.toMatchObject({
          code: 'SOURCE',
        });
        const reached = (await values()).length - before;
        expect(await log.mark(`source/${name}`)).toBe(reached);
        await runFlow(flow(part), { log });
        expect((await values()).slice(before)).toEqual(items.map(({ value }) => value.value));
      }
    }
  });

  test('fails also while its items stand still', async () => {
    const { log: mortal } = mortalLog(log, { commitsLeft: 0, lastIsWritten: false });
    const part = source('still', topics.metrics, standingStill());
    await expect(runFlow(flow(part), { log: mortal })).rejects.toThrow(
      /source still failed: killed/,
    );
  });
});
