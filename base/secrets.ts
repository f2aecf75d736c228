/**
 * The secrets that this process was given, and text without them.
 *
 * Whoever reads a secret from the environment, a URL or a setting calls `keepSecret` before using it. From
 * then on `withoutSecrets` finds it in any text: as it is, URL-encoded, escaped as in JSON or HTML, and
 * within base64, even with invisible characters in between (zero-width spaces, controls, ends of lines); it
 * replaces it by `[secret]`. Text must pass here before it is cut, because a part of a secret is not found.
 * Every `MillraceError` and `messageOf` (errors.ts) does so, and `outsideText` (outsideText.ts) for what
 * servers and tools say.
 */
import { randomBytes } from 'node:crypto';
import { literal } from './text/escaping.ts';

const MARK = '[secret]';
/**
 * Placeholder for the mark until all patterns are done, since a secret may be part of the mark. Occurs in no
 * text.
 */
const FOUND = '\ufdd0';
/** Shorter secrets are matched as whole words only, since they occur within others by chance. */
const WITHIN_WORDS_MIN = 4;
/** How many characters of base64 to match: fewer would occur by chance. */
const BASE64_MIN = 8;

/** A pattern for each secret: V8 does not optimise one of more than 20 kB. */
const patterns = new Map<string, readonly RegExp[]>();
let all: readonly RegExp[] = [];

/** Treats this text as a secret from now on. Empty text is ignored. */
export function keepSecret(secret: string): void {
  if (secret === '' || patterns.has(secret)) return;
  const made = [asText(secret), ...asBase64(secret)].map((pattern) => new RegExp(pattern, 'gu'));
  patterns.set(secret, made);
  // Longest first: a password may be a part of another secret.
  const longestFirst = [...patterns].sort(([a], [b]) => b.length - a.length);
  all = longestFirst.flatMap(([, each]) => each);
}

/** A user's name and password as in HTTP's Basic login; the password alone is a secret too. */
export function keepLogin(username: string, password: string): void {
  if (username === '' && password === '') return;
  keepSecret(`${username}:${password}`);
  // A login without a password is a token in the place of the user.
  keepSecret(password === '' ? username : password);
}

/** The text with each kept secret, in all its forms, as `[secret]`. */
export function withoutSecrets(text: string): string {
  const clean = all.reduce((rest, pattern) => rest.replace(pattern, FOUND), text);
  return clean === text ? text : clean.replaceAll(FOUND, MARK);
}

/**
 * Characters that are invisible, or are left out later on: as they are, and as JSON, HTML and URLs spell the
 * usual ones. None spells a character that a secret may have, and there are at most sixteen, so the time
 * grows only with the text.
 */
const UNSEEN = [
  '(?:[\\p{Cc}\\p{Cf}\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180d\\u2028\\u2029\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0\\u{e0100}-\\u{e01ef}]',
  '\\\\{1,3}(?:[nrt]|u(?:20(?:0[b-fB-F]|2[89a-eA-E]|6[0-9a-fA-F])|00(?:0[0-9a-fA-F]|1[0-9a-fA-F]|7[fF]|[aA][dD])|[fF][eE][fF]{2}))',
  '&(?:#(?:820[3-7]|8288|173|65279|10|13)|#[xX]0*(?:200[b-fB-F]|2060|[aA][dD]|[fF][eE][fF]{2}|[aAdD])|ZeroWidthSpace|NoBreak|zwnj|zwj|shy);',
  '%(?:25){0,2}(?:0[aAdD]|[eE]2%(?:25){0,2}80%(?:25){0,2}8[b-fB-F]|[cC]2%(?:25){0,2}[aA][dD]|[eE][fF]%(?:25){0,2}[bB]{2}%(?:25){0,2}[bB][fF])){0,16}',
].join('|');

/** Each character in any of its spellings, so that text which encodes only some of them is found as well. */
function asText(secret: string): string {
  const spelled = [...secret].map(spellings).join(UNSEEN);
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

/**
 * How base64 of any text with the secret in it reads, whatever precedes it: one of three rows of
 * characters, and at both ends one more that holds a part of it.
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
    return [`${any}${[...own].map(base64Spellings).join(UNSEEN)}${any}={0,2}`];
  });
}

/** Of both alphabets. */
function base64Spellings(character: string): string {
  if (character === '+') return '(?:[+-]|%2[Bb])';
  return character === '/' ? '(?:\\\\?\\/|_|%2[Ff])' : character;
}

/** A new one, which gives access to a server: no seed repeats it. 32 characters that may stand in a URL. */
export function newSecret(): string {
  return randomBytes(24).toString('base64url');
}
