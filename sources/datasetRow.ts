/**
 * A benchmark's row as a question: the fields that its format names, checked, with the options of a
 * multiple-choice question below it (ET-Agent §9.1). Complaints name the field as the file has it.
 */
import { type DatasetFormat, type NamedFormat, NoAnswer } from './datasetFormats.ts';
import { FieldFault } from './fieldFault.ts';
import type { ImagesFolder } from './inlineImage.ts';
import { type Checked, idCharactersMax } from './questionRow.ts';
import { kindName } from './rawRow.ts';

type Fields = Readonly<Record<string, unknown>>;

const idNames = ['id', 'ID', 'task_id', 'question_id', 'idx', 'query_id', 'file'];
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** Where a row is, and where to write images that it contains. */
export interface RowPlace {
  readonly place: number;
  readonly text: boolean;
  readonly images?: ImagesFolder;
}

/**
 * Reads a row. Its id is the dataset's name with the row's own id, or with `place` - 1 if it has none.
 * `text` = every cell is text, so a list is written as JSON.
 */
export function datasetRow(
  given: Fields,
  { name, format }: NamedFormat,
  { place, text, images }: RowPlace,
): Checked {
  const fields = format.open?.(given) ?? given;
  const idName = idNames.find((one) => isThere(fields[one]));
  const id = `${name}-${idName === undefined ? place - 1 : String(fields[idName])}`;
  try {
    if (id.length > idCharactersMax) {
      throw new FieldFault(
        idName!,
        `is longer than ${idCharactersMax - name.length - 1} characters`,
      );
    }
    const { ability } = format;
    if (format.read !== undefined) {
      return { value: { id, source: name, ability, ...format.read(fields, place) } };
    }
    const question = questionOf(fields, format, text);
    const answers = answersOf(fields, format, text);
    const attached = format.attached?.(fields, images) ?? null;
    const value = { id, source: name, question, answers, ability };
    if (attached === null) return { value };
    const { note, task } = attached;
    return { value: { ...value, question: `${question}\n\n${note}`, task } };
  } catch (error) {
    if (!(error instanceof FieldFault)) throw error;
    return { complaint: { field: error.field, reason: error.message, key: id } };
  }
}

/** The fields that every row of a format must have, for checking columns. */
export function missingFields(columns: readonly string[], format: DatasetFormat): string | null {
  const missing = [format.question, format.answer, format.body ?? []].filter(
    (names) => names.length > 0 && !names.some((name) => columns.includes(name)),
  );
  if (missing.length === 0) return null;
  const wanted = missing.map((names) => names.join(' or ')).join(', ');
  return `no column ${wanted}; its columns are ${columns.join(', ')}`;
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

/** The first of these fields that the row has; if it has none, the complaint names the first. */
function pick(fields: Fields, names: readonly string[]): { field: string; value: unknown } {
  const field = names.find((name) => fields[name] !== undefined && fields[name] !== null);
  if (field === undefined) throw new FieldFault(names[0]!, 'is missing');
  return { field, value: fields[field] };
}

function textOf(fields: Fields, names: readonly string[]): string {
  const { field, value } = pick(fields, names);
  if (typeof value !== 'string')
    throw new FieldFault(field, `must be a string, not ${kindName(value)}`);
  if (value.trim() === '') throw new FieldFault(field, 'is empty');
  return value;
}

function questionOf(fields: Fields, format: DatasetFormat, text: boolean): string {
  const asked = textOf(fields, format.question);
  const whole = format.body === undefined ? asked : `${textOf(fields, format.body)} ${asked}`;
  const options = optionsOf(fields, format, text);
  return options.length === 0 ? whole : `${whole}\n\n${options.join('\n')}`;
}

/** Lines `A. …`; a missing option is skipped and keeps its letter. */
function optionsOf(fields: Fields, { choices }: DatasetFormat, text: boolean): string[] {
  const given = choices?.(fields) ?? [];
  const listed = text ? parsedList(given) : given;
  if (!Array.isArray(listed)) throw new FieldFault('options', 'must be a list of strings');
  if (listed.length > letters.length) {
    throw new FieldFault(
      'options',
      `has ${listed.length} options, but at most ${letters.length} are allowed`,
    );
  }
  return listed.flatMap((option, index) =>
    isThere(option) ? [`${letters[index]!}. ${String(option)}`] : [],
  );
}

function answersOf(fields: Fields, format: DatasetFormat, text: boolean): readonly string[] {
  const { field, value } = pick(fields, format.answer);
  try {
    const taken = format.take === undefined ? value : format.take(value);
    const listed = format.ability === 'qa' ? parsedList(taken) : text ? textsIn(taken) : taken;
    const all = Array.isArray(listed) ? listed : [listed];
    if (all.length === 0) throw new FieldFault(field, 'has no answer');
    return all.map((answer) => written(field, answer));
  } catch (error) {
    if (error instanceof NoAnswer) throw new FieldFault(field, error.message);
    throw error;
  }
}

/** For a mathematical answer only a JSON list of texts is a list: `[-2,7]` may be an interval or a vector. */
function textsIn(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\[\s*"/.test(value)) return value;
  try {
    const list: unknown = JSON.parse(value);
    return Array.isArray(list) && list.every((one) => typeof one === 'string') ? list : value;
  } catch {
    return value;
  }
}

/** Text that begins with `[` is a list: JSON, or as the benchmarks print one, with commas. */
function parsedList(value: unknown): unknown {
  if (typeof value !== 'string' || !value.startsWith('[')) return value;
  try {
    return JSON.parse(value);
  } catch {
    let [from, to] = [0, value.length];
    while (value[from] === '[') from++;
    while (to > from && value[to - 1] === ']') to--;
    return value
      .slice(from, to)
      .split(/, */)
      .map((part) => part.replace(/^(['"])(.*)\1$/, '$2'));
  }
}

/**
 * An answer as text. Truth values are written as Python does, because that is what the benchmarks compare
 * with.
 */
function written(field: string, answer: unknown): string {
  if (answer === null || answer === undefined) throw new FieldFault(field, 'is missing');
  if (typeof answer === 'boolean') return answer ? 'True' : 'False';
  if (typeof answer === 'number' || typeof answer === 'bigint') return String(answer);
  if (typeof answer !== 'string')
    throw new FieldFault(field, `must be a string, not ${kindName(answer)}`);
  if (answer.trim() === '') throw new FieldFault(field, 'is empty');
  return answer;
}
