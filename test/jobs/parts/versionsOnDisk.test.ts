import { describe, expect, test } from '@jest/globals';
import { keeping } from '../../../jobs/keptVersions.ts';
import { diskText, versionsOnDisk } from '../../../jobs/parts/versionsOnDisk.ts';
import { policySettings } from '../../../jobs/policySettings.ts';
import { temporaryFolder } from '../../support/folder.ts';

const GB = 2 ** 30;
const sizes = { weights: 0.5 * GB, state: GB };
const kept = keeping(policySettings.parse({}), 1.5 * GB);
const nine = { rounds: 9, tokens: 200e6 };

describe('what a run needs of the disk', () => {
  test('is the versions that exist at once, their states and the records', () => {
    expect(diskText(sizes, kept, nine, 50 * GB)).toBe(
      'disk: a version of the weights takes 0.5 GiB, the optimiser state 1.0 GiB; ' +
        'the run needs 8.0 GiB for 4 versions and 3 states at a time and up to 3.0 GiB of records; 50.0 GiB are free',
    );
  });

  test('grows where all versions stay, or those of rounds without an end', () => {
    const all = { ...kept, keepVersions: 0 };
    expect(diskText(sizes, all, nine, 50 * GB)).toContain(', and more as it goes on; 50.0 GiB');
    const { keepRule } = kept;
    const rounds = { ...kept, keepRule: { ...keepRule, rounds: 0 } };
    const endless = { rounds: null, tokens: null };
    expect(diskText(sizes, rounds, endless, 50 * GB)).toContain(', and more as it goes on');
    expect(diskText(sizes, kept, endless, 50 * GB)).not.toContain('and more');
  });

  test('says what to do where it is too much', () => {
    expect(diskText(sizes, kept, nine, 5 * GB)).toMatch(
      /5\.0 GiB are free, which is too little: lower keepVersions.*--runs on another disk$/,
    );
  });

  test('is not worth a word where it is little', () => {
    const small = { weights: 4e6, state: 8e6 };
    const rounds = { rounds: 3, tokens: 1e6 };
    expect(diskText(small, kept, rounds, 50 * GB)).toBeNull();
    expect(diskText(small, kept, rounds, 50e6)).toContain('0.0 GiB are free');
  });

  test('is said at the start of a run, and not on a replay, which keeps all', async () => {
    const folder = temporaryFolder();
    const said: string[] = [];
    const context = { folder: folder.path, print: (line: string) => said.push(line) };
    const settings = policySettings.parse({});
    const here = await versionsOnDisk({ sizes }, settings, context, nine);
    expect(here.keepVersions).toBe(2);
    expect(said).toEqual([expect.stringMatching(/^disk: a version of the weights takes 0\.5 GiB/)]);
    const replay = { keepAll: true, engine: (live: never) => live, tools: (live: never) => live };
    const again = await versionsOnDisk({ sizes }, settings, { ...context, replay }, nine);
    expect(again).toMatchObject({ keepVersions: 0, keepStates: 'all' });
    expect(said).toHaveLength(1);
    const served = await versionsOnDisk({}, settings, context, nine);
    expect([served.keepVersions, said.length]).toEqual([4, 1]);
    folder.remove();
  });
});
