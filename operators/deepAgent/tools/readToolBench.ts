/**
 * ToolBench's corpus of APIs (`corpus.tsv`: `docid`, `document_content` as JSON) as functions. Of APIs whose
 * functions have one name the first counts.
 */
import { createReadStream } from 'node:fs';
import { parseStream } from 'fast-csv';
import { z } from 'zod';
import { type RawApi, type ToolDoc, toolDoc } from '../../../base/functions/index.ts';
import { jsonIn } from '../../../base/text/index.ts';

const parameter = z.looseObject({
  name: z.string(),
  type: z.string().default('').catch(''),
  description: z.string().default('').catch(''),
});
const api = z.looseObject({
  category_name: z.string().default(''),
  tool_name: z.string(),
  api_name: z.string(),
  api_description: z.string().nullable().default(''),
  required_parameters: z.array(parameter).default([]),
  optional_parameters: z.array(parameter).default([]),
});

/** `wrong` makes the error of a row: its number from 1 without the head, the field, the reason. */
export async function readToolBench(
  file: string,
  wrong: (row: number, field: string, reason: string) => Error,
): Promise<readonly ToolDoc[]> {
  const docs = new Map<string, ToolDoc>();
  const rows = parseStream<Record<string, string>, Record<string, string>>(
    createReadStream(file, 'utf8'),
    { headers: true, delimiter: '\t' },
  );
  let row = 0;
  for await (const { document_content: content } of rows as AsyncIterable<Record<string, string>>) {
    row += 1;
    if (content === undefined) {
      throw wrong(row, 'document_content', 'is missing: this is not ToolBench’s corpus.tsv');
    }
    const read = api.safeParse(jsonIn(content));
    if (!read.success) {
      const [issue] = read.error.issues;
      throw wrong(row, ['document_content', ...issue!.path].join('.'), issue!.message);
    }
    const { api_description: about, ...rest } = read.data;
    const doc = toolDoc({ ...rest, api_description: about ?? '' } as RawApi, 'repaired');
    if (!docs.has(doc.name)) docs.set(doc.name, doc);
  }
  return [...docs.values()];
}
