/**
 * The secrets that this process was given, and text without them.
 *
 * Whoever takes a secret from the environment, a URL or a setting tells `keepSecret` before it is used. From then on
 * `withoutSecrets` finds it in any text: as it is, URL-encoded, escaped as in JSON or HTML, and within base64; it replaces it
 * by `[secret]`. Text has to pass here before anything cuts it, because a part of a secret is not found. Every
 * `MillraceError` and `messageOf` (errors.ts) does so, and `outsideText` (outsideText.ts) for what servers and tools say.
 */

const MARK = '[secret]';
/** Shorter secrets are found as words of their own only, since they occur within others by chance. */
const WITHIN_WORDS_MIN = 4;
/** Characters of base64 that are looked for: fewer occur by chance. */
const BASE64_MIN = 8;

/** Each secret's pattern. */
const patterns = new Map<string, string>();
let all: RegExp | null = null;

/** From now on this is a secret. Empty text is none. */
export function keepSecret(secret: string): void {
  if (secret === '' || patterns.has(secret)) return;
  patterns.set(secret, [asText(secret), ...asBase64(secret)].join('|'));
  // The longest first: a password may be a part of another secret.
  const longestFirst = [...patterns].sort(([a], [b]) => b.length - a.length);
  all = new RegExp(longestFirst.map(([, pattern]) => pattern).join('|'), 'gu');
}

/** A user's name and password, which travel together as HTTP's Basic login; the password alone is a secret too. */
export function keepLogin(username: string, password: string): void {
  if (username === '' && password === '') return;
  keepSecret(`${username}:${password}`);
  // A login without a password is a token in the user's place.
  keepSecret(password === '' ? username : password);
}

/** The text with each kept secret, in all its forms, as `[secret]`. */
export function withoutSecrets(text: string): string {
  return all === null ? text : text.replace(all, MARK);
}

/** Each character in any of its spellings, so that text which encodes only some of them is found as well. */
function asText(secret: string): string {
  const spelled = [...secret].map(spellings).join('');
  if (secret.length >= WITHIN_WORDS_MIN) return spelled;
  return `(?<![\\p{L}\\p{N}])${spelled}(?![\\p{L}\\p{N}])`;
}

const NAMED: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
};

/** The character, its percent-encoding (also encoded again), and its escapes in JSON and HTML. */
function spellings(character: string): string {
  const code = character.codePointAt(0)!;
  const percent = [...Buffer.from(character)].map((byte) => `%(?:25){0,2}${hex(byte, 2)}`).join('');
  const units = [...Array(character.length).keys()].map((i) => character.charCodeAt(i));
  const escapes = units.map((unit) => `\\\\{1,3}u${hex(unit, 4)}`).join('');
  const name = NAMED[character] === undefined ? '' : `|${NAMED[character]}`;
  const entity = `&(?:#${code}|#[xX]0*${hex(code, 1)}${name});`;
  const plus = character === ' ' ? '|\\+' : '';
  return `(?:\\\\{0,3}${literal(character)}|${percent}|${escapes}|${entity}${plus})`;
}

/** The number in either case. */
function hex(value: number, digits: number): string {
  const text = value.toString(16).padStart(digits, '0');
  return text.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

function literal(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&');
}

/**
 * How base64 of any text with the secret in it reads, whatever stands before it: one of three rows of characters, and at
 * both ends one more that holds a part of it.
 */
function asBase64(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const own = text.slice(
      Math.ceil((before * 4) / 3),
      Math.floor(((before + bytes.length) * 4) / 3),
    );
    if (own.length < BASE64_MIN) return [];
    const any = '(?:[A-Za-z0-9+\\/_-]|%(?:2[BbFf]))?';
    return [`${any}${[...own].map(base64Spellings).join('')}${any}={0,2}`];
  });
}

/** Of both alphabets. */
function base64Spellings(character: string): string {
  if (character === '+') return '(?:[+-]|%2[Bb])';
  return character === '/' ? '(?:\\\\?\\/|_|%2[Ff])' : character;
}
