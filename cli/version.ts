/** The version of this package, from its package.json (one folder up from source, two from `dist`). */
import { readFileSync } from 'node:fs';

const path = import.meta.url.endsWith('.js') ? '../../package.json' : '../package.json';

export const version: string = (
  JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as { version: string }
).version;
