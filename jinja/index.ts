/** Jinja templates as Python renders them: see README.md. It needs nothing else from Millrace. */
export { NeedsDeadline } from './budget.ts';
export { convert } from './convert.ts';
export { TemplateFailure } from './failure.ts';
export { Float, parseJson } from './jsonNumbers.ts';
export { compile, type Renderer } from './render.ts';
export type { Origin, Run } from './text.ts';
export { Dict, List, type Value } from './values.ts';
