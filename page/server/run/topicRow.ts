/** A record as a row: a summary, its value, and links to the pages of the things it names. Pure. */

import type { Stored } from '../../../streams/index.ts';
import { runTopic } from '../../../topics/index.ts';
import type { TopicRow } from '../../wire/index.ts';
import { refOf } from './refs.ts';
import { shown } from './shown.ts';

const LINE_MAX = 200;

export interface RowOptions {
  readonly run: string;
  readonly textMax: number;
}

export function rowOf(stored: Stored<unknown>, { run, textMax }: RowOptions): TopicRow {
  const { position, key, atMs, bytes } = stored;
  const { value, cut } = shown(stored.value, { textMax });
  const { line, links } = aboutOf(stored, run);
  const { partition, offset } = position;
  return {
    ref: refOf(position),
    partition,
    offset,
    key,
    atMs,
    bytes,
    line: line.length > LINE_MAX ? `${line.slice(0, LINE_MAX)}…` : line,
    value,
    cut,
    links,
  };
}

function aboutOf(
  { topic: name, position, value }: Stored<unknown>,
  run: string,
): Pick<TopicRow, 'line' | 'links'> {
  const topic = runTopic(name);
  if (topic === undefined) return { line: '', links: [] };
  const at = `/r/${encodeURIComponent(run)}`;
  const links = topic.links(value, refOf(position)).map(({ label, path }) => ({
    label,
    href: path.startsWith('?') ? `${at}${path}` : `${at}/${path}`,
  }));
  return { line: topic.line(value), links };
}
