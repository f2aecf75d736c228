/** A number of things, in words: `1 record`, `2 records`. */
export function counted(count: number, one: string): string {
  return `${count} ${count === 1 ? one : `${one}s`}`;
}
