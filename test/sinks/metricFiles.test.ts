import { readFile, stat, symlink, truncate, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { NEVER } from 'rxjs';
import { metricFiles, type RecordedMetric } from '../../sinks/metricFiles.ts';
import { runOperator } from '../../testing/runOperator.ts';
import { type Metric, topics } from '../../topics/index.ts';
import { temporaryFolder } from '../support/folder.ts';
import { metric } from '../support/records.ts';

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

const metrics = Array.from({ length: 5 }, (_, i) =>
  metric({ name: `loss, "part" ${i}`, step: i, round: 1, value: i / 8, atMs: 100 + i }),
);
const path = (ending: string): string => join(folder.path, `metrics.${ending}`);
const read = (ending: string): Promise<string> => readFile(path(ending), 'utf8');

const stored = (values: readonly Metric[], offsets = [...values.keys()]) =>
  async function* (from: number): AsyncGenerator<RecordedMetric> {
    for (const [i, value] of values.entries()) {
      const offset = offsets[i]!;
      if (offset >= from) yield { value, position: { offset } };
    }
  };

/** A start of the run whose topic holds `values`, none of which the group has settled. */
async function start(values: readonly Metric[] = metrics): Promise<void> {
  const options = { folder: folder.path, recorded: stored(values) };
  const run = await runOperator(metricFiles(options), topics.metrics, values);
  expect(run).toMatchObject({ outputs: [], unsettled: 0, sideRecords: {} });
}

describe('metric files', () => {
  test('hold a line for each metric, as JSON and as CSV with a header', async () => {
    await start();
    const lines = (await read('jsonl')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      metrics.map((one, offset) => ({ offset, ...one })),
    );
    const csv = (await read('csv')).trimEnd().split('\n');
    expect(csv).toHaveLength(6);
    expect(csv[0]).toBe('offset,step,round,name,value,atMs');
    expect(csv[3]).toBe('2,2,1,"loss, ""part"" 2",0.25,102');
  });

  test('of an older version, which called the round a stage, are written again', async () => {
    await start();
    const whole = { jsonl: await read('jsonl'), csv: await read('csv') };
    for (const ending of ['jsonl', 'csv'] as const) {
      await writeFile(path(ending), whole[ending].replaceAll(/\bround\b/g, 'stage'));
    }
    await start();
    expect({ jsonl: await read('jsonl'), csv: await read('csv') }).toEqual(whole);
  });

  test('have no cell that a spreadsheet would execute', async () => {
    await start([metric({ name: '=1+1', round: 1, value: -0.5, step: 3, atMs: 100 })]);
    expect((await read('csv')).trimEnd().split('\n')[1]).toBe("0,3,1,'=1+1,-0.5,100");
    expect(JSON.parse(await read('jsonl')).name).toBe('=1+1');
  });

  test('belong to their owner alone, and no link in their place is followed', async () => {
    const other = join(folder.path, 'other');
    await writeFile(other, 'half a line');
    await symlink(other, path('csv'));
    await expect(start()).rejects.toThrow(/ELOOP.*metrics.csv/);
    expect(await readFile(other, 'utf8')).toBe('half a line');
    await unlink(path('csv'));
    await start();
    const modes = [await stat(path('csv')), await stat(path('jsonl'))];
    expect(modes.map(({ mode }) => mode & 0o777)).toEqual([0o600, 0o600]);
  });

  test('have no line twice when records are delivered again', async () => {
    await start(metrics.slice(0, 3));
    await start();
    await start();
    const [jsonl, csv] = [await read('jsonl'), await read('csv')];
    folder.remove();
    folder = temporaryFolder();
    await start();
    expect([jsonl, csv]).toEqual([await read('jsonl'), await read('csv')]);
  });

  test('are complete again after the next start, whatever became of them', async () => {
    await start();
    const whole = { jsonl: await read('jsonl'), csv: await read('csv') };
    const spoil: ((text: string) => string)[] = [
      (text) => `${text}no line\n\nnull\n`,
      (text) => text.split('\n').toSpliced(2, 2).join('\n'),
      (text) => text.split('\n').toSpliced(3, 1, 'spoilt').join('\n'),
      (text) => `${text}${text}`,
      () => '',
    ];
    for (const one of spoil) {
      for (const ending of ['jsonl', 'csv'] as const)
        await writeFile(path(ending), one(whole[ending]));
      const options = { folder: folder.path, recorded: stored(metrics) };
      await runOperator(metricFiles(options), topics.metrics, []);
      expect({ jsonl: await read('jsonl'), csv: await read('csv') }).toEqual(whole);
    }
  });

  test('tell a missing line from an offset that the topic does not have', async () => {
    const offsets = [0, 1, 4, 5, 9];
    const options = { folder: folder.path, recorded: stored(metrics, offsets) };
    const settled = () => runOperator(metricFiles(options), topics.metrics, []);
    await settled();
    const whole = await read('jsonl');
    expect(
      whole
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).offset),
    ).toEqual(offsets);
    await settled();
    expect(await read('jsonl')).toBe(whole);
    await writeFile(path('jsonl'), whole.split('\n').toSpliced(3, 1).join('\n'));
    await settled();
    expect(await read('jsonl')).toBe(whole);
  });

  test('have each line once if a run is stopped in the middle and restarted at once', async () => {
    const many = Array.from({ length: 100 }, (_, step) => metric({ name: 'loss', step }));
    const options = { folder: folder.path, recorded: stored(many) };
    await start(many);
    const whole = { jsonl: await read('jsonl'), csv: await read('csv') };
    for (const ticks of [10, 30, 100, 300]) {
      await unlink(path('jsonl'));
      const stopped = metricFiles(options)(NEVER).subscribe();
      for (let i = 0; i < ticks; i++) await new Promise((resolve) => setImmediate(resolve));
      stopped.unsubscribe();
      await start(many);
      expect({ jsonl: await read('jsonl'), csv: await read('csv') }).toEqual(whole);
    }
  });

  test('have the same lines after a crash at any byte of either file', async () => {
    await start();
    const whole = { jsonl: await read('jsonl'), csv: await read('csv') };
    for (const ending of ['jsonl', 'csv'] as const) {
      const bytes = Buffer.byteLength(whole[ending]);
      for (let cut = 0; cut < bytes; cut += 3) {
        await truncate(path(ending), cut);
        await start();
        expect(await read(ending)).toBe(whole[ending]);
      }
    }
    expect({ jsonl: await read('jsonl'), csv: await read('csv') }).toEqual(whole);
  });

  test('have a half-written line of multi-byte characters removed', async () => {
    await start(metrics.slice(0, 2));
    const two = await read('jsonl');
    await writeFile(path('jsonl'), `${two}{"offset":2,"name":"größe 🌊`);
    await start();
    expect((await read('jsonl')).startsWith(`${two}{"offset":2,"name":"loss`)).toBe(true);
  });

  test('end the stage with an error if they cannot be written, and lose no metric to a dead letter', async () => {
    const run = runOperator(
      metricFiles({ folder: join(folder.path, 'missing'), recorded: stored([]) }),
      topics.metrics,
      metrics,
    );
    await expect(run).rejects.toThrow('ENOENT');
  });
});
