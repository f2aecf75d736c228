/** The tags of the papers' two tools, which the reference functions know alone. */
export const paperTools: readonly string[] = ['search', 'python'];
