/** The server's halves of the page's views, found by name. */
import { describe, expect, test } from '@jest/globals';
import { servedView } from '../../../page/server/views/views.ts';
import { runPages } from '../../../page/wire/index.ts';

describe('a view of a run', () => {
  test.each(runPages)('%s has a file of its name on the server', async (page) => {
    expect((await servedView(page)).data).toBeInstanceOf(Function);
  });
});
