/** Links from a row of a topic to the pages about what it names. */

/** `path` is relative to the run's page. */
export interface RowLink {
  readonly label: string;
  readonly path: string;
}

export const questionLink = (id: string): RowLink => ({
  label: `question ${id}`,
  path: `q/${encodeURIComponent(id)}`,
});
