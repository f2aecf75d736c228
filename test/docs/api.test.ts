/** The API reference: every public name with its words and its declaration. */
import { expect, test } from '@jest/globals';
import { apiPage, entryPoints } from '../../scripts/docs/apiPage.ts';
import { exportsOf } from '../support/exports.ts';

test.each([...entryPoints()])(
  'the API page of %s has each name with a description and a declaration',
  (entry, file) => {
    const page = apiPage(entry, file);
    expect(page).toMatch(new RegExp(`^# ${entry}\\n\\n\\S`));
    const sections = page.split(/^## /m).slice(1);
    const names = exportsOf(file).map(({ name }) => name);
    expect(sections.map((section) => section.split('\n')[0]).sort()).toEqual(names.sort());
    const bare = sections.filter((section) => !/^\w+\n\n\S/.test(section));
    expect(bare).toEqual([]);
    expect(sections.filter((section) => section.includes('```ts\nexport ')).length).toBeGreaterThan(
      0,
    );
  },
);
