/** A whole number with thousands separators: `48,210`. */
export function thousands(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A number of things: `1 record`, `48,210 records`. `shown` is the number in another form: `48k`. */
export function counted(count: number, one: string, shown = thousands(count)): string {
  return `${shown} ${count === 1 ? one : `${one}s`}`;
}
