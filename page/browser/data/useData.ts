/**
 * The data behind views, requested by address. Answers that were read lately are kept (at most 8 MB of them),
 * shown at once when they are wanted again, and requested again. What was there stays while something newer
 * is on its way.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ErrorBody, frozenKey } from '../../wire/index.ts';
import { recent } from '../logic/recent.ts';
import { queryOf } from '../logic/route.ts';
import { heardTime } from './clock.ts';
import { frozen } from './frozen.ts';

export type Problem = ErrorBody['error'];

export interface Answer<T> {
  readonly data: T | null;
  readonly problem: Problem | null;
  readonly loading: boolean;
}

const cacheBytes = 8_000_000;
const kept = recent<unknown>(cacheBytes);

class DataProblem extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.message);
    this.problem = problem;
  }
}

async function ask(url: string, signal: AbortSignal): Promise<unknown> {
  if (frozen !== null) {
    const [path, search = ''] = url.split('?');
    const answer = frozen.json[frozenKey(path!, queryOf(search))] ?? frozen.json[path!];
    if (answer !== undefined) return answer;
    throw new DataProblem({
      code: 'NOT_FROZEN',
      message: `This is not in the file. ${frozen.leftOut} Open the run with \`millrace view\` to see all of it.`,
    });
  }
  let response: Response;
  try {
    response = await fetch(url, { signal, headers: { Accept: 'application/json' } });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new DataProblem({
      code: 'UNREACHABLE',
      message:
        'The server of this page does not answer. Start `millrace view` again; this page then reconnects by itself.',
    });
  }
  const text = await response.text();
  if (!response.ok) throw new DataProblem(problemOf(text, response.status));
  const data = JSON.parse(text) as { readonly nowMs?: number };
  if (typeof data.nowMs === 'number') heardTime(data.nowMs);
  kept.put(url, data, text.length);
  return data;
}

function problemOf(text: string, status: number): Problem {
  try {
    const { error } = JSON.parse(text) as ErrorBody;
    if (typeof error?.message === 'string') return error;
  } catch {
    // Any proxy before the server answered in its own words.
  }
  return { code: `HTTP_${status}`, message: `The server answered with status ${status}.` };
}

/** Requests the data, and again whenever `revision` changes; null requests nothing. */
export function useData<T>(url: string | null, revision: unknown = 0): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T> & { readonly url: string | null }>({
    url: null,
    data: null,
    problem: null,
    loading: true,
  });
  const now = useRef(answer);
  now.current = answer;
  useEffect(() => {
    if (url === null) return;
    const abort = new AbortController();
    const cached = kept.get(url) as T | undefined;
    const same = now.current.url?.split('?')[0] === url.split('?')[0];
    const before = cached ?? (same ? now.current.data : null);
    setAnswer({ url, data: before, problem: null, loading: true });
    ask(url, abort.signal).then(
      (data) => setAnswer({ url, data: data as T, problem: null, loading: false }),
      (error) => {
        if (abort.signal.aborted) return;
        const problem =
          error instanceof DataProblem ? error.problem : { code: 'PAGE', message: String(error) };
        // What could be read a moment ago is still true if the server is only away.
        const data = problem.code === 'UNREACHABLE' ? before : null;
        setAnswer({ url, data, problem, loading: false });
      },
    );
    return () => abort.abort();
  }, [url, revision]);
  // Between the change of the address and its effect the old answer must not be taken for the new one.
  const stale = url !== null && answer.url?.split('?')[0] !== url.split('?')[0];
  return stale
    ? { data: (kept.get(url) as T | undefined) ?? null, problem: null, loading: true }
    : answer;
}

/** Reads what will likely be wanted next. */
export function prefetch(url: string): void {
  if (frozen !== null || kept.get(url) !== undefined) return;
  ask(url, new AbortController().signal).catch(() => {});
}

/** Bytes at an address; null if they cannot be had. */
export async function bytesOf(url: string, signal: AbortSignal): Promise<ArrayBuffer | null> {
  if (frozen !== null) {
    const packed = frozen.bins[url];
    return packed === undefined
      ? null
      : Uint8Array.from(atob(packed), (c) => c.charCodeAt(0)).buffer;
  }
  const known = kept.get(url) as ArrayBuffer | undefined;
  if (known !== undefined) return known;
  const response = await fetch(url, { signal });
  if (!response.ok) return null;
  const bytes = await response.arrayBuffer();
  kept.put(url, bytes, bytes.byteLength);
  return bytes;
}
