/** `-o '%t[%p]@%o %T %k %s\n'`: a line of one's own, in the letters of kcat. Keys have their control characters made visible. */
import type { Stored } from '../../streams/log.ts';
import { visible } from '../../views/text/visible.ts';
import { usageError } from '../failure.ts';

/** `shown` = the record, or the parts that were asked for, as JSON. */
type Part = (stored: Stored<unknown>, shown: () => string) => string;

const parts: Readonly<Record<string, Part>> = {
  t: ({ topic }) => topic,
  p: ({ position }) => String(position.partition),
  o: ({ position }) => String(position.offset),
  T: ({ atMs }) => String(atMs),
  k: ({ key }) => visible(key),
  s: (_stored, shown) => shown(),
  S: ({ bytes }) => String(bytes),
  '%': () => '%',
};

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\\': '\\' };

/** What the letters stand for, for the help. */
export const templateLetters =
  '%t topic, %p partition, %o offset, %T milliseconds since 1970, %k key, %s record, %S its bytes, %% a percent sign; \\n, \\t';

/** Fails with code `USAGE` on a letter that it does not know. */
export function template(text: string): Part {
  const pieces = [...text.matchAll(/%(.?)|\\(.)|[^%\\]+|\\$/gsu)].map(
    ([piece, letter, escaped]): Part => {
      if (letter === undefined)
        return () => (escaped === undefined ? piece : (escapes[escaped] ?? piece));
      const part = parts[letter];
      if (part !== undefined) return part;
      throw usageError(`-o: there is no "%${letter}" in "${text}"; there are: ${templateLetters}`);
    },
  );
  return (stored, shown) => pieces.map((piece) => piece(stored, shown)).join('');
}
