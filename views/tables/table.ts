/** A table as data: made once, shown as text or as HTML. */

export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
}

export interface Column {
  readonly label: string;
  /** Numbers go right. */
  readonly align: 'left' | 'right';
}

/** Columns of names go left, those of numbers right: the first `names` are names. */
export function columns(labels: readonly string[], names = 1): Column[] {
  return labels.map((label, i) => ({ label, align: i < names ? 'left' : 'right' }));
}
