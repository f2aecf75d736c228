/** What is known of the token that was chosen. */
import { orDash } from '../../../../summary/format/index.ts';
import { setQuery } from '../../data/place.ts';
import { value } from '../../logic/format.ts';
import type { Tokens } from '../../logic/tokens.ts';
import { Hostile } from '../basics.tsx';

export function TokenLine({
  tokens,
  token,
}: {
  readonly tokens: Tokens | null;
  readonly token: number | null;
}) {
  if (tokens === null || token === null || !(token >= 0 && token < tokens.count)) return null;
  const text = tokens.text.slice(tokens.starts[token]!, tokens.starts[token + 1]!);
  const [entropy, logProb] = [tokens.entropy?.[token], tokens.logProb?.[token]];
  return (
    <p class="token-line" role="status">
      <span>
        token <b class="num">{token}</b>
      </span>
      <code>
        <Hostile text={JSON.stringify(text)} />
      </code>
      {logProb !== undefined && !Number.isNaN(logProb) && !tokens.isTool(token) && (
        <span>
          log-prob <b class="num">{value(Number(logProb.toFixed(3)))}</b>{' '}
          <span class="muted">({(100 * Math.exp(logProb)).toFixed(1)} %)</span>
        </span>
      )}
      {entropy !== undefined && !Number.isNaN(entropy) && (
        <span>
          entropy <b class="num">{value(Number(entropy.toFixed(3)))}</b>
        </span>
      )}
      <span>
        version <b class="num">{orDash(tokens.version(token), String)}</b>
      </span>
      <button type="button" class="quiet" onClick={() => setQuery({ tok: undefined })}>
        close
      </button>
    </p>
  );
}
