/** The page that Prometheus reads: its lines, what it counts, and that nothing in it grows with the data. */
import { describe, expect, it } from '@jest/globals';
import { type Family, Histogram, Page } from '../../views/prometheus/exposition.ts';
import { allFamilies } from '../../views/prometheus/families.ts';
import { Tallies } from '../../views/prometheus/tallies.ts';
import { metric, rollout, samples } from '../support/records.ts';

const family = (over: Partial<Family> = {}): Family => ({
  name: 'x_total',
  type: 'counter',
  help: 'What.',
  labels: ['a'],
  ...over,
});

function pageOf(tallies: Tallies): string[] {
  const page = new Page();
  tallies.writeTo(page);
  return page.text().split('\n');
}

describe('a page', () => {
  it('has the samples of a family together, whatever the order they came in', () => {
    const page = new Page({ run: 'first' });
    const other = family({ name: 'y', type: 'gauge', labels: [] });
    const counted = family();
    page.add(counted, ['1'], 3);
    page.add(other, [], Number.POSITIVE_INFINITY);
    page.add(counted, ['2'], Number.NaN);
    expect(page.text()).toBe(
      '# HELP x_total What.\n# TYPE x_total counter\n' +
        'x_total{run="first",a="1"} 3\nx_total{run="first",a="2"} NaN\n' +
        '# HELP y What.\n# TYPE y gauge\ny{run="first"} +Inf\n',
    );
  });

  it('escapes what a label may not hold, and cuts what is long', () => {
    const page = new Page();
    page.add(family(), ['say "a\\b"\nnow'], 1);
    page.add(family({ name: 'z' }), ['x'.repeat(1000)], 1);
    expect(page.text()).toContain('x_total{a="say \\"a\\\\b\\"\\nnow"} 1\n');
    expect(page.text()).toContain(`z{a="${'x'.repeat(100)}"} 1\n`);
  });

  it('gives a histogram as counts of what is at or below each bound', () => {
    const histogram = new Histogram([1, 2]);
    for (const value of [0.5, 1, 1.5, 7]) histogram.observe(value);
    const page = new Page();
    page.addHistogram(family({ name: 'h', type: 'histogram', labels: [] }), [], histogram);
    expect(page.text().split('\n').slice(2, -1)).toEqual([
      'h_bucket{le="1"} 2',
      'h_bucket{le="2"} 3',
      'h_bucket{le="+Inf"} 4',
      'h_sum 10',
      'h_count 4',
    ]);
  });
});

describe('names', () => {
  it('are each there once, in base units, with _total on counters alone', () => {
    const names = allFamilies.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { name, type } of allFamilies) {
      expect(name).toMatch(/^millrace_[a-z_]+$/);
      expect(name).not.toMatch(/_(ms|mb|percent)$/);
      expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
    }
  });

  it('carry no label that grows with the data', () => {
    const labels = new Set(allFamilies.flatMap((one) => one.labels));
    const grows = ['question', 'rollout', 'key', 'reason', 'offset', 'worker_pid'];
    expect(grows.filter((label) => labels.has(label))).toEqual([]);
  });
});

describe('tallies', () => {
  it('count rollouts by finish, and tokens by who wrote them', () => {
    const tallies = new Tallies();
    const shared = { version: 0, entropy: null, tool: null };
    const one = rollout({
      finish: 'answer',
      prompt: new Int32Array(7),
      segments: [
        { kind: 'policy', start: 0, end: 5, ...shared },
        { kind: 'tool', start: 5, end: 8, ...shared },
        { kind: 'policy', start: 8, end: 20, ...shared },
      ],
      startedMs: 1000,
      endedMs: 1200,
    });
    tallies.rollout(one);
    tallies.rollout({ ...one, finish: 'failed' });
    const lines = pageOf(tallies);
    expect(lines).toContain('millrace_rollouts_total{finish="answer"} 1');
    expect(lines).toContain('millrace_rollouts_total{finish="failed"} 1');
    expect(lines).toContain('millrace_rollouts_total{finish="length"} 0');
    expect(lines).toContain('millrace_tokens_total{kind="prompt"} 14');
    expect(lines).toContain('millrace_tokens_total{kind="policy"} 34');
    expect(lines).toContain('millrace_tokens_total{kind="tool"} 6');
    expect(lines).toContain('millrace_rollout_duration_seconds_bucket{le="0.1"} 0');
    expect(lines).toContain('millrace_rollout_duration_seconds_bucket{le="0.3"} 2');
    expect(lines).toContain('millrace_rollout_turns_bucket{le="2"} 2');
  });

  it('hold a policy that makes up the names of tools, and a job with endless metrics, to a bounded page', () => {
    const tallies = new Tallies();
    const call = samples.toolCalls.full;
    for (let i = 0; i < 5000; i++) {
      tallies.toolCall({ ...call, tool: `made-up-${i}`, ok: false, cached: false });
      tallies.metric(metric({ name: `eval/${i}`, value: i }), true);
    }
    const lines = pageOf(tallies);
    expect(lines.length).toBeLessThan(1000);
    expect(lines).toContain('millrace_tool_calls_total{tool="other",outcome="error"} 4968');
    expect(lines).toContain('millrace_metric_names_left_out 200');
    tallies.metric(metric({ name: 'eval/3', value: 9 }), true);
    expect(pageOf(tallies)).toContain('millrace_metric{name="eval/3"} 9');
  });

  it('count the time in the trainer of steps that were made since', () => {
    const tallies = new Tallies();
    tallies.metric(metric({ name: 'time/train_ms', value: 90_000 }), false);
    tallies.metric(metric({ name: 'time/train_ms', value: 2_500 }), true);
    const lines = pageOf(tallies);
    expect(lines).toContain('millrace_train_seconds_total 2.5');
    expect(lines).toContain('millrace_metric{name="time/train_ms"} 2500');
  });
});
