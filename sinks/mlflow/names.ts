/** Names and values in the form that MLflow accepts. */

const NAME_MAX = 250;
const VALUE_MAX = 6_000;

/**
 * Letters, digits and `_-. :/` of ASCII; a path that could leave a folder is not allowed. `eval/pass@4`
 * becomes `eval/pass_at_4`.
 */
export function mlflowName(name: string): string {
  const parts = name
    .replaceAll('@', '_at_')
    .replace(/[^\w\-. :/]/g, '_')
    .split('/')
    .filter((part) => !['', '.', '..'].includes(part));
  return parts.join('/').slice(0, NAME_MAX) || '_';
}

/** JSON has no such numbers; MLflow takes them as text. */
export function mlflowNumber(value: number): number | string {
  if (Number.isFinite(value)) return value;
  return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity';
}

export interface Param {
  readonly key: string;
  readonly value: string;
}

/** Settings by dotted key. */
export function paramsOf(settings: Readonly<Record<string, unknown>>): Param[] {
  return Object.entries(settings).flatMap(([key, value]) => {
    const inside = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (inside) {
      const within = paramsOf(value as Readonly<Record<string, unknown>>);
      return within.map((param) => ({ ...param, key: mlflowName(`${key}.${param.key}`) }));
    }
    const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
    return [{ key: mlflowName(key), value: text.slice(0, VALUE_MAX) }];
  });
}
