/** The colours of what is drawn, against the panels that it is drawn on. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';

const style = readFileSync('page/browser/style/page.css', 'utf8');
const [light, dark] = [...style.matchAll(/:root \{([^}]*)\}/g)].map(([, rules = '']) =>
  Object.fromEntries(
    [...rules.matchAll(/--(\w[\w-]*): (#[0-9a-f]{6});/g)].map(([, name, colour]) => [name, colour]),
  ),
);

/** Relative luminance (WCAG 2.2). */
function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

function contrast(a: string, b: string): number {
  const [more, less] = [luminance(a), luminance(b)].sort((p, q) => q - p);
  return (more! + 0.05) / (less! + 0.05);
}

test('the contrast of black on white is 21, of grey on white 4.5', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21, 9);
  expect(contrast('#ffffff', '#767676')).toBeCloseTo(4.54, 2);
});

describe.each([
  ['light', light],
  ['dark', { ...light, ...dark }],
])('in the %s colour scheme', (_, colours) => {
  const drawn = ['s0', 's1', 's2', 's3', 's4', 's5', 'busy', 'blocked', 'paced', 'accent'];

  test.each(drawn)('%s stands out from a panel: 3 or more', (name) => {
    expect(contrast(colours![name]!, colours!.card!)).toBeGreaterThanOrEqual(3);
  });

  test.each(['ink', 'muted', 'accent', 'good', 'bad', 'warn'])(
    '%s can be read: 4.5 or more',
    (name) => {
      for (const ground of ['card', 'sunk', 'ground']) {
        expect(contrast(colours![name]!, colours![ground]!)).toBeGreaterThanOrEqual(4.5);
      }
    },
  );
});
