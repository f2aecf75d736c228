/** Rules of accessibility, by axe in the page itself. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Found {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

/**
 * What automatic rules of accessibility find, as `rule: element`. An element that the stream replaces while
 * they look at it has no colours: what is found counts when it is found again.
 */
export async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  await page.evaluate(axe);
  const found = async (): Promise<string[]> => {
    const { violations: list } = await page.evaluate<Found>(
      `axe.run(document, ${JSON.stringify({ resultTypes: ['violations'], ...(rules && { runOnly: rules }) })})`,
    );
    return list.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
  };
  const first = await found();
  return first.length === 0 ? [] : (await found()).filter((one) => first.includes(one));
}
