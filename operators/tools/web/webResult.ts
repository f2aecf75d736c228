/** What a web search finds, whichever the provider. */
import { webLine, webText } from './webText.ts';

/** One page that was found. Texts have passed `webText`; what a provider does not say is ''. */
export interface WebResult {
  readonly title: string;
  readonly url: string;
  readonly siteName: string;
  /** The day, without the time. */
  readonly date: string;
  readonly snippet: string;
}

/** Limit of results taken from one reply. */
const RESULTS_MAX = 100;
const TITLE_MAX = 1000;
const URL_MAX = 4000;
const SNIPPET_MAX = 20_000;

/** The names of the fields of a provider's result; of a list, the first one present counts. */
export type FieldNames = Readonly<Record<keyof WebResult, readonly string[]>>;

/** The results in a list of a reply, by the provider's names of their fields. Null if it is not a list. */
export function resultsIn(list: unknown, names: FieldNames): readonly WebResult[] | null {
  if (!Array.isArray(list)) return null;
  return list.slice(0, RESULTS_MAX).map((item: unknown) => {
    const text = (field: keyof WebResult): string =>
      names[field].map((name) => valueAt(item, name)).find(isText) ?? '';
    return {
      title: webLine(text('title'), TITLE_MAX),
      url: webLine(text('url'), URL_MAX),
      siteName: webLine(text('siteName'), TITLE_MAX),
      date: webLine(text('date').slice(0, 40).split('T')[0]!, 40),
      snippet: webText(text('snippet'), SNIPPET_MAX),
    };
  });
}

/** The value at a dotted path of names; undefined if there is none. */
export function valueAt(value: unknown, path: string): unknown {
  let at = value;
  for (const name of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[name];
  }
  return at;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
