/** A row that does not fit its format; the field has its name in the file. */
export class FieldFault extends Error {
  readonly field: string;
  constructor(field: string, reason: string) {
    super(reason);
    this.field = field;
  }
}
