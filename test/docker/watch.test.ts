/**
 * What Prometheus and Grafana are given in docker/: it requests numbers that a run writes, by labels that
 * they have.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { allFamilies } from '../../summary/prometheus/families.ts';

interface Target {
  readonly expr: string;
}
interface Dashboard {
  readonly uid: string;
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly datasource?: { readonly uid: string };
    readonly targets?: readonly Target[];
  }[];
  readonly templating: {
    readonly list: readonly { readonly type: string; readonly definition?: string }[];
  };
  readonly annotations: { readonly list: readonly Target[] };
}
interface Rules {
  readonly groups: readonly { readonly rules: readonly (Target & { readonly alert: string })[] }[];
}

const dashboard: Dashboard = JSON.parse(
  readFileSync('docker/grafana/dashboards/millrace.json', 'utf8'),
);
const rules: Rules = yaml('docker/prometheus/alerts.yml');

const asked = [
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => [title, expr] as const),
  ),
  ...dashboard.annotations.list.map(({ expr }) => ['annotation', expr] as const),
  ...dashboard.templating.list.flatMap(({ definition }) =>
    definition === undefined ? [] : [['variable', definition] as const],
  ),
  ...rules.groups.flatMap((group) => group.rules.map(({ alert, expr }) => [alert, expr] as const)),
];

const families = new Map(
  allFamilies.flatMap((family) =>
    family.type === 'histogram'
      ? ['_bucket', '_sum', '_count'].map((end) => [`${family.name}${end}`, family] as const)
      : [[family.name, family] as const],
  ),
);

describe('the dashboard and the alerts', () => {
  test.each(asked)('include %s, whose metrics exist: %s', (_, expr) => {
    const names = [...expr.matchAll(/millrace_\w+/g)].map(([name]) => name);
    expect(names.filter((name) => !families.has(name))).toEqual([]);
    // `up` is Prometheus' own, of each target; the others are prom-client's, of each process.
    if (!/^up\{|(process|nodejs)_/.test(expr)) expect(names).not.toEqual([]);
  });

  test.each(asked)('include %s, whose labels exist: %s', (_, expr) => {
    for (const [, name, inside] of expr.matchAll(/(millrace_\w+)\{([^}]*)\}/g)) {
      const has = ['run', ...(families.get(name as string)?.labels ?? [])];
      const chosen = [...(inside as string).matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, l]) => l);
      expect(chosen.filter((label) => !has.includes(label as string))).toEqual([]);
    }
  });

  test('load into any Grafana with the chosen data source, and have no panel twice', () => {
    expect(dashboard.templating.list[0]).toMatchObject({ type: 'datasource', name: 'datasource' });
    const uids = new Set(dashboard.panels.flatMap(({ datasource }) => datasource?.uid ?? []));
    expect([...uids].join()).toMatch(/^\$\{datasource\}$/);
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

test('docs/observability.md names metrics that exist', () => {
  const text = readFileSync('docs/observability.md', 'utf8');
  const named = [...text.matchAll(/`(millrace_\w+)`/g)].map(([, name]) => name as string);
  expect(named.length).toBeGreaterThan(0);
  const known = allFamilies.map(({ name }) => name);
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
});

function yaml<T>(path: string): T {
  return parse(readFileSync(path, 'utf8')) as T;
}
