/** What stops a template: a fault in its text or its input, or a Jinja feature that is not supported. */

/** `line` counts from 1 in the template; it is added where it becomes known. */
export class TemplateFailure extends Error {
  line: number | null;

  constructor(message: string, line: number | null = null) {
    super(message);
    this.line = line;
  }
}

/** Throw a failure; `message` is in Python's and Jinja's words if they have any. */
export function fail(message: string, line: number | null = null): never {
  throw new TemplateFailure(message, line);
}

/** Refuse a Jinja feature that this renderer lacks: an error is better than a different text. */
export function unsupported(what: string, line: number | null = null): never {
  throw new TemplateFailure(`${what} is not supported here`, line);
}
