import { describe, expect, test } from '@jest/globals';
import { MillraceError, messageOf } from '../../base/errors.ts';
import { outsideText } from '../../base/outsideText.ts';
import { keepLogin, keepSecret, withoutSecrets } from '../../base/secrets.ts';

const SECRET = 'S3C?RET/kä+"&1';
keepSecret(SECRET);
keepLogin('service-user', 'hunter-2/?');

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('a registered secret', () => {
  test.each([
    ['as it is', SECRET],
    ['URL-encoded', encodeURIComponent(SECRET)],
    [
      'URL-encoded in small letters',
      encodeURIComponent(SECRET).toLowerCase().replace('s3c', 'S3C').replace('ret', 'RET'),
    ],
    ['URL-encoded in part', encodeURI(SECRET)],
    ['URL-encoded twice', encodeURIComponent(encodeURIComponent(SECRET))],
    ['as a form', new URLSearchParams({ a: SECRET }).toString().slice(2)],
    ['as JSON', JSON.stringify(SECRET).slice(1, -1)],
    ['as JSON in JSON', JSON.stringify(JSON.stringify(SECRET)).slice(3, -3)],
    ['as HTML', SECRET.replaceAll('&', '&amp;').replaceAll('"', '&quot;')],
    ['in base64', base64(SECRET)],
    ['in base64 for URLs', Buffer.from(SECRET).toString('base64url')],
    ['in URL-encoded base64', encodeURIComponent(base64(SECRET))],
  ])('is removed from text %s', (_, form) => {
    const cleaned = withoutSecrets(`before <${form}> after <${form}>`);
    expect(cleaned).toMatch(/^before <\[secret\]+=*> after <\[secret\]=*>$/);
  });

  test.each([
    ['a zero-width space', '\u200b'],
    ['several of them', '\u200b\u2060\ufeff'],
    ['a soft hyphen', '\u00ad'],
    ['a mark of direction', '\u202e'],
    ['a tag character', '\u{e0041}'],
    ['a control character', '\u0007'],
    ['the end of a line', '\n'],
    ['its spelling in JSON', '\\u200b'],
    ['its spelling in JSON in JSON', '\\\\u200B'],
    ['its spelling in HTML', '&#8203;'],
    ['its name in HTML', '&ZeroWidthSpace;'],
    ['its spelling in URLs', '%E2%80%8B'],
  ])('is removed with %s between its characters', (_, unseen) => {
    const between = (text: string): string => [...text].join(unseen);
    for (const form of [SECRET, base64(SECRET)]) {
      const cleaned = withoutSecrets(`before <${between(form)}> after`);
      expect(cleaned).toMatch(/^before <\[secret\]=*> after$/);
    }
    const once = `${SECRET.slice(0, 5)}${unseen}${SECRET.slice(5)}`;
    expect(withoutSecrets(once)).toBe('[secret]');
  });

  test('is removed once, even if the mark contains another secret', () => {
    keepSecret('a-long-one-17');
    keepSecret('cret]');
    expect(withoutSecrets('a-long-one-17, cret]')).toBe('[secret], [secret]');
  });

  test('is removed in time linear in the length of the text, whatever the text', () => {
    const hostile = ['\u200b', '%E2%80%8B', '\\u200b', '&shy;', 'S\u200b', 'S3C?RE\n', '\\\\\\'];
    for (const part of hostile) {
      const text = part.repeat(Math.ceil(200_000 / part.length));
      expect(withoutSecrets(text)).toBe(text);
    }
  });

  test.each([0, 1, 2, 3, 4, 5])('is removed in base64 after %d other characters', (before) => {
    const said = base64(`${'u'.repeat(before)}${SECRET} and more`);
    const cleaned = withoutSecrets(said);
    expect(cleaned).toContain('[secret]');
    const left = Buffer.from(cleaned.replace('[secret]', ''), 'base64').toString('latin1');
    expect(left).not.toMatch(/3C|RE|ET/);
  });

  test('is removed as a login in base64, as in a Basic header', () => {
    const said = `Authorization: Basic ${base64('service-user:hunter-2/?')}`;
    expect(withoutSecrets(said)).toBe('Authorization: Basic [secret]');
    expect(withoutSecrets('service-user and hunter-2%2F%3f')).toBe('service-user and [secret]');
  });

  test('is removed before a text is cut', () => {
    const key = 'tml-0123456789abcdef0123456789abcdef';
    keepSecret(key);
    for (let at = 360; at <= 400; at++) {
      expect(outsideText(`${'x'.repeat(at)}${key}`)).not.toContain('tml-0');
    }
  });

  test('is removed from every error and message', () => {
    const error = new MillraceError('USAGE', `no server at http://u:${SECRET}@host`);
    expect(error.message).toBe('no server at http://u:[secret]@host');
    expect(messageOf(new Error(`got ${SECRET}`))).toBe('got [secret]');
    expect(messageOf(SECRET)).toBe('[secret]');
  });

  test('of few characters is removed only as a word by itself', () => {
    keepSecret('pw');
    expect(withoutSecrets('pw pwd upw "pw" u:pw@h')).toBe(
      '[secret] pwd upw "[secret]" u:[secret]@h',
    );
  });

  test('leaves other text as it is', () => {
    const text = 'the secret of “S3C-RET” is none: %53 &quot; +';
    expect(withoutSecrets(text)).toBe(text);
  });
});

describe('text from outside', () => {
  test('becomes one line without control characters', () => {
    expect(outsideText('a\r\n\tb \u001b]0;title\u0007 \u202egnp.exe \u009b2J')).toBe(
      'a b \\u001b]0;title\\u0007 \\u202egnp.exe \\u009b2J',
    );
  });

  test('is cut where it is long', () => {
    expect(outsideText('abc'.repeat(1_000_000), 5)).toBe('abcab…');
    expect(outsideText('abcde', 5)).toBe('abcde');
  });
});
