/** Parts by settings: the chosen kind reads its own settings, and what it would not read is an error. */
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { openPart, type PartKind } from '../../../jobs/parts/kinds.ts';

const urls = z.string().default('').describe('');
const near: PartKind<{ rows: z.ZodDefault<z.ZodNumber> }, string, string> = {
  settings: { rows: z.number().default(8) },
  open: async ({ rows }, place) => `${place} with ${rows} rows`,
};
const far: PartKind<{ urls: typeof urls; key: z.ZodDefault<z.ZodString> }, string, string> = {
  settings: { urls, key: z.string().default('') },
  open: async (settings, place) => `${place} at ${JSON.stringify(settings)}`,
};
const other: PartKind<{ urls: typeof urls }, string, string> = {
  settings: { urls },
  open: async (settings) => settings.urls,
};
const kinds = { near, far, other };

function opened(settings: Readonly<Record<string, unknown>>): Promise<string> {
  return openPart<string, string>(kinds, { part: 'engine', by: 'server', settings }, 'here');
}

describe('a part by its kind', () => {
  test('is made of the settings that its kind reads', async () => {
    const defaults = { rows: 8, urls: '', key: '' };
    expect(await opened({ ...defaults, server: 'near', rows: 3 })).toBe('here with 3 rows');
    expect(await opened({ ...defaults, server: 'far', urls: 'http://a' })).toBe(
      'here at {"urls":"http://a","key":""}',
    );
  });

  test('refuses a setting of another kind, and says which kinds read it', async () => {
    const settings = { server: 'near', rows: 8, urls: 'http://a', key: '' };
    await expect(opened(settings)).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining(
        'engine.server=near does not use engine.urls; it needs engine.server=far or engine.server=other',
      ),
    });
  });
});
