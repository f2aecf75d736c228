/** The page that Prometheus reads: its lines, what it counts, and that nothing in it grows with the data. */
import { describe, expect, it } from '@jest/globals';
import { type Family, KeptHistogram, Page } from '../../summary/prometheus/exposition.ts';
import { allFamilies } from '../../summary/prometheus/families.ts';
import { Tallies } from '../../summary/prometheus/tallies.ts';
import { metric, rollout, samples } from '../support/records.ts';

const family = (over: Partial<Family> = {}): Family => ({
  name: 'x_total',
  type: 'counter',
  help: 'What.',
  labels: ['a'],
  ...over,
});

async function pageOf(tallies: Tallies): Promise<string[]> {
  const page = new Page();
  tallies.writeTo(page);
  return (await page.text()).split('\n');
}

describe('a page of metrics', () => {
  it('groups the samples of a family, whatever their order', async () => {
    const page = new Page({ run: 'first' });
    const other = family({ name: 'y', type: 'gauge', labels: [] });
    const counted = family();
    page.add(counted, ['1'], 3);
    page.add(other, [], Number.POSITIVE_INFINITY);
    page.add(counted, ['2'], 5);
    expect(await page.text()).toBe(
      '# HELP x_total What.\n# TYPE x_total counter\n' +
        'x_total{a="1",run="first"} 3\nx_total{a="2",run="first"} 5\n' +
        '\n# HELP y What.\n# TYPE y gauge\ny{run="first"} +Inf\n',
    );
  });

  it('escapes what a label may not hold, and cuts what is long', async () => {
    const page = new Page();
    page.add(family(), ['say "a\\b"\nnow'], 1);
    page.add(family({ name: 'z' }), ['x'.repeat(1000)], 1);
    const text = await page.text();
    expect(text).toContain('x_total{a="say \\"a\\\\b\\"\\nnow"} 1\n');
    expect(text).toContain(`z{a="${'x'.repeat(100)}"} 1\n`);
  });

  it('repeats a stored histogram on every page', async () => {
    const kept = new KeptHistogram(family({ name: 'h', type: 'histogram', labels: [] }), [1, 2]);
    for (const value of [0.5, 1, 1.5, 7]) kept.observe([], value);
    const read = async () => {
      const page = new Page();
      page.addKept(kept.metric);
      return (await page.text()).split('\n').slice(2, -1);
    };
    const lines = (last: number, sum: number) => [
      'h_bucket{le="1"} 2',
      'h_bucket{le="2"} 3',
      `h_bucket{le="+Inf"} ${last}`,
      `h_sum ${sum}`,
      `h_count ${last}`,
    ];
    expect(await read()).toEqual(lines(4, 10));
    kept.observe([], 5);
    expect(await read()).toEqual(lines(5, 15));
  });
});

describe('metric names', () => {
  it('are unique, in base units, with _total only on counters', () => {
    const names = allFamilies.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { name, type } of allFamilies) {
      expect(name).toMatch(/^millrace_[a-z_]+$/);
      expect(name).not.toMatch(/_(ms|mb|percent)$/);
      expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
    }
  });

  it('have no label that grows with the data', () => {
    const labels = new Set(allFamilies.flatMap((one) => one.labels));
    const grows = ['question', 'rollout', 'key', 'reason', 'offset', 'worker_pid'];
    expect(grows.filter((label) => labels.has(label))).toEqual([]);
  });
});

describe('tallies of a run', () => {
  it('count rollouts by finish, and tokens by who wrote them', async () => {
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
    const lines = await pageOf(tallies);
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

  it('keep the page bounded if a policy invents tool names, or a job has endless metrics', async () => {
    const tallies = new Tallies();
    const call = samples.toolCalls.full;
    for (let i = 0; i < 5000; i++) {
      tallies.toolCall({ ...call, tool: `made-up-${i}`, ok: false, cached: false });
      tallies.metric(metric({ name: `eval/${i}`, value: i }), true);
    }
    const lines = await pageOf(tallies);
    expect(lines.length).toBeLessThan(1000);
    expect(lines).toContain('millrace_tool_calls_total{tool="other",outcome="error"} 4968');
    expect(lines).toContain('millrace_metric_names_left_out 200');
    tallies.metric(metric({ name: 'eval/3', value: 9 }), true);
    expect(await pageOf(tallies)).toContain('millrace_metric{name="eval/3"} 9');
  });

  it('count the training time of steps since the start', async () => {
    const tallies = new Tallies();
    tallies.metric(metric({ name: 'time/train_ms', value: 90_000 }), false);
    tallies.metric(metric({ name: 'time/train_ms', value: 2_500 }), true);
    const lines = await pageOf(tallies);
    expect(lines).toContain('millrace_train_seconds_total 2.5');
    expect(lines).toContain('millrace_metric{name="time/train_ms"} 2500');
  });
});
