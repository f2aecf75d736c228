/**
 * Questions that another program appends to a JSON Lines file, as `tail -F` would show them
 * (`growingFile.ts`).
 *
 * The cursor is the place after the last line taken. A line that is not a question is a dead letter with file
 * and line.
 */
import { basename, extname } from 'node:path';
import type { SleepClock } from '../../base/index.ts';
import type { ResumableItem } from '../../streams/index.ts';
import { parsed } from '../json.ts';
import type { QuestionRow } from '../questionRow.ts';
import { questionsFileError, type RawRow } from '../rawRow.ts';
import { type ArrivalRules, arrival } from './arrival.ts';
import type { EndlessQuestions } from './endlessQuestions.ts';
import { type Grown, growingFile, readPlace, writtenPlace } from './growingFile.ts';

export interface FollowOptions extends ArrivalRules {
  readonly clock: SleepClock;
  /** How often to check a file at rest, or a folder. */
  readonly pollMs?: number;
}

/** The part of the cursor. */
const PLACE = 'file';

/**
 * Follows a JSON Lines file, which need not exist yet. Fails with code `QUESTIONS_FILE` if its name belongs
 * to another format.
 */
export function followFile(path: string, options: FollowOptions): EndlessQuestions {
  const ending = extname(path);
  if (!['.jsonl', '.ndjson'].includes(ending)) {
    throw questionsFileError(
      `cannot follow ${path}: only JSON Lines files (.jsonl, .ndjson) grow line by line; put other files into a folder and follow that`,
    );
  }
  const source = basename(path, ending);
  return {
    kind: 'resumable',
    name: path,
    async *open({ cursor, signal }): AsyncGenerator<ResumableItem<QuestionRow>> {
      const last = await cursor(PLACE);
      const { clock, pollMs } = options;
      const means = { clock, signal, ...(pollMs !== undefined && { pollMs }) };
      for await (const grown of growingFile(path, last === null ? null : readPlace(last), means)) {
        const at = { [PLACE]: writtenPlace(grown.place) };
        const row = rowOf(grown);
        if (row === null) continue;
        const unique = `${grown.place.head.slice(0, 8)}-${grown.place.lines}`;
        yield { ...arrival(row, { origin: grown.path, source, unique }, options), at };
      }
    },
  };
}

/** Null for an empty line, whose place is covered by the next one. */
function rowOf(grown: Grown): RawRow | null {
  if ('gap' in grown) {
    const reason =
      'the file was replaced or emptied while the run was not reading it, and no rotated file contains this line: anything written after it was missed';
    return { kind: 'unreadable', place: grown.gap.lines, reason, payload: '' };
  }
  const { line } = grown;
  if (line.text === null) {
    return { kind: 'unreadable', place: line.number, reason: line.reason, payload: '' };
  }
  if (line.text.trim() === '') return null;
  return parsed(line.number, line.text, 'a line must be one JSON object');
}
