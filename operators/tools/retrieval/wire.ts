/**
 * What clients of a retriever send, and the replies: three routes, in the forms that are in use.
 *
 *     POST /retrieve      {"queries": [q, …] or "query": q, "topk": 3, "return_scores": false}
 *                         {"result": [[passage, …], …]}, with scores {"result": [[{"document": passage,
 *                         "score": s}, …], …]}
 *     POST /search        {"query": q, "top_n": 10, "return_score": false}     [passage, …], with scores [[passage, …], [s, …]]
 *     POST /batch_search  {"query": [q, …], "top_n": 10, "return_score": false}
 *                         [[passage, …], …], with scores [[[passage, …], …], [[s, …], …]]
 *
 * The first is Search-R1's and those that follow it, the others ET-Agent's and Tool-Star's over FlashRAG.
 * Each route takes the fields of the others in place of its own. A passage is {"id", "contents"}, and
 * "title" if it has one.
 */
import { Refusal } from '../../../base/http/index.ts';
import type { Hit, Passage } from './retriever.ts';

/** The routes. */
export const routes = ['/retrieve', '/search', '/batch_search'] as const;
/** One of `routes`. */
export type Route = (typeof routes)[number];

/** A parsed request. */
export interface Asked {
  readonly queries: readonly string[];
  readonly top: number;
  readonly scores: boolean;
}

/** Limits of a request, and its defaults. */
export interface AskLimits {
  /** Passages if the request does not say how many. */
  readonly top: number;
  readonly topMax: number;
  readonly queriesMax: number;
}

/** Limit of UTF-16 units of a query; the rest is ignored. */
export const QUERY_MAX = 2000;

const QUERIES = ['queries', 'query'];
const TOP = ['topk', 'top_n', 'top_k'];
const SCORES = ['return_scores', 'return_score'];
const FIELDS = [...QUERIES, ...TOP, ...SCORES];

/** Parses the body of a request. Throws a `Refusal` that names the field. */
export function askedIn(body: unknown, route: Route, limits: AskLimits): Asked {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw wrong('', 'the body must be a JSON object: {"queries": ["…"], "topk": 3}');
  }
  const given = new Map(Object.entries(body).filter(([, value]) => value !== null));
  for (const field of given.keys()) {
    if (!FIELDS.includes(field)) {
      throw wrong(
        field,
        `there is no field ${field.slice(0, 100)}; the fields are ${FIELDS.join(', ')}`,
      );
    }
  }
  return {
    queries: queriesIn(given, route, limits),
    top: topIn(given, limits),
    scores: scoresIn(given),
  };
}

type Given = ReadonlyMap<string, unknown>;

function queriesIn(given: Given, route: Route, { queriesMax }: AskLimits): readonly string[] {
  const [field, value] = oneOf(given, QUERIES) ?? [];
  if (field === undefined) {
    const example = route === '/search' ? '"query": "…"' : '"queries": ["…"]';
    throw wrong(route === '/search' ? 'query' : 'queries', `is missing: send {${example}}`);
  }
  if (typeof value === 'string' && field === 'query' && route !== '/batch_search') {
    return [checked(value, field)];
  }
  if (!Array.isArray(value) || route === '/search') {
    throw wrong(field, route === '/search' ? 'must be one text' : 'must be a list of texts');
  }
  if (value.length > queriesMax) {
    throw wrong(field, `has ${value.length} queries; send at most ${queriesMax} in a request`);
  }
  return value.map((query, i) => checked(query, `${field}[${i}]`));
}

function checked(query: unknown, field: string): string {
  if (typeof query !== 'string') throw wrong(field, 'must be a text');
  if (query.trim() === '') throw wrong(field, 'Query content cannot be empty');
  return query.slice(0, QUERY_MAX);
}

function topIn(given: Given, { top, topMax }: AskLimits): number {
  const [field, value] = oneOf(given, TOP) ?? [];
  if (field === undefined) return top;
  if (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= topMax)
    return Number(value);
  throw wrong(field, `must be a whole number from 1 to ${topMax}`);
}

function scoresIn(given: Given): boolean {
  const [field, value = false] = oneOf(given, SCORES) ?? [];
  if (typeof value === 'boolean') return value;
  throw wrong(field!, 'must be true or false');
}

/** The one of these fields that was given. */
function oneOf(given: Given, names: readonly string[]): readonly [string, unknown] | undefined {
  const there = names.filter((name) => given.has(name));
  if (there.length > 1)
    throw wrong(there[1]!, `cannot be combined with ${there[0]}; send one of them`);
  return there.map((name) => [name, given.get(name)] as const)[0];
}

function wrong(field: string, why: string): Refusal {
  return new Refusal(400, field === '' ? why : `${field}: ${why}`, field === '' ? {} : { field });
}

/** The answer to a request. */
export function answerTo(
  { scores }: Pick<Asked, 'scores'>,
  route: Route,
  hits: readonly (readonly Hit[])[],
): unknown {
  const lists = hits.map((list) => list.map(passageOf));
  if (route === '/retrieve') {
    if (!scores) return { result: lists };
    const scored = (list: readonly Hit[]) =>
      list.map((hit) => ({ document: passageOf(hit), score: hit.score }));
    return { result: hits.map(scored) };
  }
  const numbers = hits.map((list) => list.map(({ score }) => score));
  if (route === '/search') return scores ? [lists[0], numbers[0]] : lists[0];
  return scores ? [lists, numbers] : lists;
}

function passageOf({ id, contents, title }: Hit): Passage {
  return title === undefined ? { id, contents } : { id, contents, title };
}

/** What a client sends for these queries; `/search` takes one. */
export function requestFor(
  route: '/retrieve' | '/search',
  queries: readonly string[],
  top: number,
): unknown {
  if (route === '/search') return { query: queries[0], top_n: top };
  return { queries, topk: top, return_scores: true };
}

/** The passages in a server's answer, a list for each query; null if it has another form. */
export function hitsIn(body: unknown, route: '/retrieve' | '/search'): Hit[][] | null {
  const lists = route === '/search' ? [body] : (body as { result?: unknown } | null)?.result;
  if (!Array.isArray(lists)) return null;
  const hits: Hit[][] = [];
  for (const list of lists) {
    if (!Array.isArray(list)) return null;
    const found = list.map(hitIn);
    if (found.includes(null)) return null;
    hits.push(found as Hit[]);
  }
  return hits;
}

/** With or without a score around it; ids may be numbers, and some corpora call the contents `text`. */
function hitIn(item: unknown): Hit | null {
  const around = item as { document?: unknown; score?: unknown } | null;
  const document = around?.document ?? item;
  if (typeof document !== 'object' || document === null) return null;
  const { id, contents, text, title } = document as Readonly<Record<string, unknown>>;
  const said = contents ?? text;
  if (typeof said !== 'string') return null;
  const score = Number(around?.score ?? 0);
  const named = typeof title === 'string' && title !== '' ? { title } : {};
  return { id: String(id ?? ''), contents: said, ...named, score: Number.isNaN(score) ? 0 : score };
}
