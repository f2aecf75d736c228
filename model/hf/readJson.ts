/** Files of JSON in a folder. */
import { readFile } from 'node:fs/promises';
import { checkpointError } from './checkpointError.ts';

/** Parse a JSON file. Rejects with a `CHECKPOINT` error when it is missing or is not JSON. */
export async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8').catch((cause) => {
    throw checkpointError(
      `${path} cannot be read (${(cause as NodeJS.ErrnoException).code ?? cause}): check the path`,
      { file: path },
      cause,
    );
  });
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw checkpointError(`${path} is not JSON: copy or save it again`, { file: path }, cause);
  }
}
