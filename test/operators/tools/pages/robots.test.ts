/** What a robots.txt allows. */
import { describe, expect, test } from '@jest/globals';
import { parseRobots, robotsAllow } from '../../../../operators/tools/pages/robots.ts';

const allowed = (file: string, path: string): boolean =>
  robotsAllow(parseRobots(file, 'millrace'), new URL(path, 'https://a.example'));

describe('a robots.txt', () => {
  test.each([
    ['', '/a', true],
    ['User-agent: *\nDisallow: /', '/a', false],
    ['User-agent: *\nDisallow:', '/a', true],
    ['User-agent: *\nDisallow: /a', '/ab', false],
    ['User-agent: *\nDisallow: /a/', '/a', true],
    ['User-agent: *\nDisallow: /\nAllow: /a', '/ab', true],
    ['User-agent: *\nAllow: /a\nDisallow: /ab', '/abc', false],
    ['User-agent: *\nDisallow: /a\nAllow: /a', '/a', true],
    ['User-agent: *\nDisallow: /*.pdf$', '/x/y.pdf', false],
    ['User-agent: *\nDisallow: /*.pdf$', '/x/y.pdf?a', true],
    ['User-agent: *\nDisallow: /*?*b', '/x?a=b', false],
    ['User-agent: *\nDisallow: /$', '/', false],
    ['User-agent: *\nDisallow: /$', '/a', true],
    ['User-agent: *\nDisallow: /caf%C3%A9', '/café', false],
    ['User-agent: *\nDisallow: /café', '/caf%C3%A9', false],
    // The group that names us counts alone; several names share a group; a group may come in parts.
    ['User-agent: *\nDisallow: /\n\nUser-agent: Millrace\nDisallow: /b', '/a', true],
    ['User-agent: other\nUser-agent: millrace\nDisallow: /a', '/a', false],
    ['User-agent: other\nDisallow: /', '/a', true],
    [
      'User-agent: millrace\nDisallow: /a\nUser-agent: x\nDisallow: /\nUser-agent: millrace\nDisallow: /b',
      '/b',
      false,
    ],
    ['\ufeffUSER-AGENT : * # all\r\ndisallow : /a # this\rnonsense\nSitemap: /x', '/a', false],
    ['Disallow: /', '/a', true],
  ])('%j is understood for %s', (file, path, expected) => {
    expect(allowed(file, path)).toBe(expected);
  });

  test('with endless patterns is read', () => {
    const file = `User-agent: *\n${`Disallow: /${'*a'.repeat(1000)}\n`.repeat(6000)}`;
    expect(allowed(file, `/${'a'.repeat(5000)}`)).toBe(false);
  });
});
