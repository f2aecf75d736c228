/** The tokens of a trajectory, which are read besides its text. */
import { useEffect, useState } from 'preact/hooks';
import type { TrajectoryData } from '../../wire/index.ts';
import { readTokens, type Tokens } from '../logic/tokens.ts';
import { bytesOf } from './useData.ts';

/** Null until they are there, and if they are not known. */
export function useTokens(data: TrajectoryData | null): Tokens | null {
  const [tokens, setTokens] = useState<{
    readonly href: string;
    readonly tokens: Tokens | null;
  } | null>(null);
  const href = data?.tokens?.href ?? null;
  useEffect(() => {
    if (href === null) return;
    const abort = new AbortController();
    bytesOf(href, abort.signal).then(
      (bytes) => setTokens({ href, tokens: bytes === null ? null : readTokens(bytes) }),
      () => {},
    );
    return () => abort.abort();
  }, [href]);
  return tokens?.href === href ? (tokens?.tokens ?? null) : null;
}
