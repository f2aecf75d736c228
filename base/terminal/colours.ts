/** Terminal colours by purpose; no colour if the output takes none. */
import { styleText } from 'node:util';

type Paint = (text: string) => string;

export interface Colours {
  readonly bold: Paint;
  /** What is muted. */
  readonly dim: Paint;
  readonly good: Paint;
  readonly bad: Paint;
  /** What deserves attention but is not an error. */
  readonly warn: Paint;
  /** Names. */
  readonly name: Paint;
}

const plain: Paint = (text) => text;
const none: Colours = {
  bold: plain,
  dim: plain,
  good: plain,
  bad: plain,
  warn: plain,
  name: plain,
};

/** Callers know whether the output takes colours, so Node must not check its own. */
function paint(style: Parameters<typeof styleText>[0]): Paint {
  return (text) => (text === '' ? '' : styleText(style, text, { validateStream: false }));
}

const some: Colours = {
  bold: paint('bold'),
  dim: paint('dim'),
  good: paint('green'),
  bad: paint('red'),
  warn: paint('yellow'),
  name: paint('cyan'),
};

export function colours(on: boolean): Colours {
  return on ? some : none;
}
