/** A number of things, in words: `1 record`, `2 records`. `shown` is the number in another form: `48,210`. */
export function counted(count: number, one: string, shown = String(count)): string {
  return `${shown} ${count === 1 ? one : `${one}s`}`;
}
