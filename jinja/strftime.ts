/** Dates as Python's strftime writes them in the C locale, in UTC. */
import { unsupported } from './failure.ts';

const MONTHS =
  'January February March April May June July August September October November December'.split(
    ' ',
  );
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

/** `format` with its parts filled in from `now`. Fails for an unknown part. */
export function dateText(format: string, now: Date): string {
  const month = MONTHS[now.getUTCMonth()] ?? '';
  const day = DAYS[now.getUTCDay()] ?? '';
  const hour = now.getUTCHours();
  const start = Date.UTC(now.getUTCFullYear(), 0, 1);
  const numbers: Readonly<Record<string, readonly [number, number]>> = {
    Y: [now.getUTCFullYear(), 1],
    y: [now.getUTCFullYear() % 100, 2],
    m: [now.getUTCMonth() + 1, 2],
    d: [now.getUTCDate(), 2],
    H: [hour, 2],
    I: [hour % 12 || 12, 2],
    M: [now.getUTCMinutes(), 2],
    S: [now.getUTCSeconds(), 2],
    j: [Math.floor((now.getTime() - start) / 86_400_000) + 1, 3],
  };
  const words: Readonly<Record<string, string>> = {
    B: month,
    b: month.slice(0, 3),
    h: month.slice(0, 3),
    A: day,
    a: day.slice(0, 3),
    p: hour < 12 ? 'AM' : 'PM',
    n: '\n',
    t: '\t',
    '%': '%',
  };
  const written: Readonly<Record<string, string>> = {
    F: '%Y-%m-%d',
    T: '%H:%M:%S',
    R: '%H:%M',
    D: '%m/%d/%y',
  };
  return format.replace(/%(-?)(.)/gs, (_, short: string, letter: string) => {
    const number = numbers[letter];
    if (number !== undefined) return String(number[0]).padStart(short ? 1 : number[1], '0');
    const longer = short ? undefined : written[letter];
    if (longer !== undefined) return dateText(longer, now);
    return (short ? undefined : words[letter]) ?? unsupported(`strftime_now: %${short}${letter}`);
  });
}
