/**
 * The code blocks of docs/rxjs.md are run: a line `outputs(operator, records); // → JSON` must give what
 * it says.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import * as rxjs from 'rxjs';
import * as primitives from '../../streams/primitives.ts';
import type { Run } from '../../streams/stage.ts';
import type { Topic } from '../../streams/topic.ts';
import { runOperator } from '../../testing/runOperator.ts';

const page = readFileSync(new URL('../../docs/rxjs.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/^(.*)\n\n```ts\n([\s\S]*?)```/gm)].map(([, before, code]) => ({
  title: before!.replace(/[*`]/g, '').slice(0, 60),
  code: code!,
}));

const topicOf = (name: string): Topic<unknown> =>
  ({ name, key: (value: unknown) => String(Object(value).id ?? value) }) as Topic<unknown>;
const run = (operator: Run<unknown, unknown>, values: readonly unknown[]) =>
  runOperator(operator, topicOf('records'), values);
// A namespace made of CommonJS has keys that are not names.
const operators = Object.entries(rxjs).filter(
  ([name]) => /^[A-Za-z]+$/.test(name) && name !== 'default',
);
const names = {
  ...Object.fromEntries(operators),
  ...primitives,
  notes: topicOf('notes'),
  outputs: async (operator: Run<unknown, unknown>, values: readonly unknown[]) =>
    (await run(operator, values)).outputs,
  sideRecords: async (operator: Run<unknown, unknown>, values: readonly unknown[]) =>
    (await run(operator, values)).sideRecords,
  check: (found: unknown, json: string) => expect(found).toEqual(JSON.parse(json)),
};
const AsyncFunction = (async () => undefined).constructor as new (
  ...parts: string[]
) => (...given: unknown[]) => Promise<void>;

describe('docs/rxjs.md', () => {
  test.each(blocks)('has a code block "$title" that does what it says', async ({ code }) => {
    const checked = code.replace(
      /^((?:outputs|sideRecords)\([\s\S]*?\)); \/\/ → (.*)$/gm,
      (_, call: string, json: string) => `check(await ${call}, ${JSON.stringify(json)});`,
    );
    expect(checked).toContain('check(await ');
    await new AsyncFunction(...Object.keys(names), checked)(...Object.values(names));
  });

  test('has more than ten code blocks', () => {
    expect(blocks.length).toBeGreaterThan(10);
    expect(page.match(/^```ts$/gm)).toHaveLength(blocks.length);
  });
});
