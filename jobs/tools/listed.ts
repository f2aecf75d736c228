/** A comma-separated list from the command line; `none` is empty. */
export function listed(given: unknown): unknown {
  if (typeof given !== 'string') return given;
  const names = given.split(',').map((name) => name.trim());
  return names.filter((name) => name !== '' && name !== 'none');
}
