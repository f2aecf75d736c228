/** A row that is not of its format; the field is named as the file has it. */
export class FieldFault extends Error {
  readonly field: string;
  constructor(field: string, reason: string) {
    super(reason);
    this.field = field;
  }
}
