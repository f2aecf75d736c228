/** How the text of a trajectory is coloured: the choice, its scale, and the strip of the whole response. */
import type { TrajectoryData } from '../../../wire/index.ts';
import { setQuery } from '../../data/place.ts';
import { isKnown, type Paint, paints, versionName } from '../../logic/paint.ts';
import type { Tokens } from '../../logic/tokens.ts';
import { Said } from '../basics.tsx';
import { Strip } from '../Strip.tsx';

const paintWords: Readonly<Record<Paint, string>> = {
  logprob: 'surprise',
  entropy: 'entropy',
  version: 'version',
  none: 'nothing',
};

export function PaintBar({
  paint,
  tokens,
  why,
  data,
}: {
  readonly paint: Paint;
  readonly tokens: Tokens | null;
  readonly why: string;
  readonly data: TrajectoryData;
}) {
  if (data.tokens === null) {
    return (
      <p class="note page-title">
        <Said text={`${why}.`} />
      </p>
    );
  }
  return (
    <section class="card paint" aria-label="Certainty of the policy">
      <div class="bar">
        <span class="segmented" role="group" aria-label="colour the text by">
          {paints.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={paint === one}
              disabled={!isKnown(tokens, one)}
              title={isKnown(tokens, one) ? 'e' : 'not measured in this job'}
              onClick={() => setQuery({ show: one === 'logprob' ? undefined : one })}
            >
              {paintWords[one]}
            </button>
          ))}
        </span>
        <Scale paint={paint} data={data} />
      </div>
      {tokens !== null && (paint === 'logprob' || paint === 'entropy') && (
        <Strip tokens={tokens} paint={paint} data={data} />
      )}
    </section>
  );
}

function Scale({ paint, data }: { readonly paint: Paint; readonly data: TrajectoryData }) {
  if (paint === 'none') return null;
  if (paint === 'version') {
    const first = data.facts.spans[0]?.version ?? 0;
    const versions = [...new Set(data.facts.spans.map(({ version }) => version))];
    return (
      <span class="scale">
        {versions.map((version) => (
          <span key={version} class={`swatch ${versionName(version, first)}`}>
            v{version}
          </span>
        ))}
      </span>
    );
  }
  return (
    <span
      class="scale"
      title={
        paint === 'logprob'
          ? 'minus log-prob of the token, in nats'
          : 'entropy of the turn, in nats'
      }
    >
      <span class="muted">{paint === 'logprob' ? 'expected' : 'sure'}</span>
      {[0, 1, 2, 3, 4, 5, 6, 7].map((level) => (
        <span key={level} class={`swatch level${level}`} aria-hidden="true" />
      ))}
      <span class="muted">
        {paint === 'logprob' ? 'surprising; underlined: the top 5 %' : 'unsure'}
      </span>
    </span>
  );
}
