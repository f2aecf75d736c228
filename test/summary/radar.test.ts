import { describe, expect, it } from '@jest/globals';
import { behaviourRadar } from '../../summary/html/behaviourRadar.ts';
import { type RadarAxis, radar, roundedUp } from '../../summary/html/radar.ts';

const axis = (label: string, max = 1): RadarAxis => ({
  label,
  max,
  rim: String(max),
  show: String,
});
const axes = [axis('up'), axis('right'), axis('down', 10), axis('left')];

/** The corners of the series, in order. */
function areas(markup: string): number[][] {
  return [...markup.matchAll(/<g class="area s\d"><polygon points="([^"]*)"/g)].map((match) =>
    match[1]!.split(/[ ,]/).map(Number),
  );
}

describe('a radar chart', () => {
  it('puts 0 at the centre and the maximum at the rim, and clips what is beyond', () => {
    const values = [1, 0.5, 20, null];
    const { markup } = radar({ title: 't', axes, series: [{ name: 'a', values }] })!;
    const [corners] = areas(markup);
    const [upX, upY, rightX, rightY, downX, downY, leftX, leftY] = corners!;
    expect([leftX, leftY]).toEqual([260, 158]);
    expect([upX, upY]).toEqual([260, 48]);
    expect([rightX, rightY]).toEqual([315, 158]);
    expect([downX, downY]).toEqual([260, 268]);
    expect(markup).toContain('aria-label="t. a: up 1, right 0.5, down 20, left not measured"');
  });

  it('distinguishes series by shape, and has their values as text', () => {
    const series = ['a', 'b', 'c'].map((name) => ({ name, values: [1, 1, 1, 1] }));
    const { markup } = radar({ title: 't', axes, series })!;
    expect(areas(markup)).toHaveLength(3);
    for (const shape of ['<circle', '<rect', '<path', '●', '■', '▲'])
      expect(markup).toContain(shape);
    expect(markup).toContain('<title>b, down: 1</title>');
    expect(() => radar({ title: 't', axes, series: [...series, series[0]!] })).toThrow(RangeError);
  });

  it('needs three axes and a series, and shows hostile names as text', () => {
    expect(
      radar({ title: 't', axes: axes.slice(2), series: [{ name: 'a', values: [1, 1] }] }),
    ).toBeNull();
    expect(radar({ title: 't', axes, series: [] })).toBeNull();
    const hostile = radar({
      title: '<script>',
      axes,
      series: [{ name: '">', values: [1, 1, 1, 1] }],
    })!;
    expect(hostile.markup).not.toContain('<script>');
    expect(hostile.markup).not.toContain('"">');
  });

  it('rounds the end of an axis up', () => {
    expect([0, 0.7, 1, 1.1, 3, 6, 48.4, null].map((value) => roundedUp([value]))).toEqual([
      1, 1, 1, 2, 5, 10, 50, 1,
    ]);
  });
});

describe('the radar of behaviour', () => {
  const numbers = {
    correctness: 0.5,
    efficiency: 0.25,
    conciseness: null,
    successfulExecution: 0.4,
    reasoningLength: 3,
  };

  it('has five axes, each with the values of the series', () => {
    const voted = { ...numbers, conciseness: 0.9 };
    const { markup } = behaviourRadar('t', [
      { name: 'a', numbers: voted },
      { name: 'b', numbers: { ...voted, conciseness: null } },
    ])!;
    expect(markup).toContain('conciseness 90.0');
    expect(markup).toContain('>90.0 · – of 100<');
    expect(markup).toContain('>3.00 · 3.00 of 5<');
  });

  it('is left out if one of the five is not known', () => {
    expect(behaviourRadar('t', [{ name: 'a', numbers }])).toBeNull();
  });
});
