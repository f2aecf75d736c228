/**
 * What a name means: a sign beside it that opens the sentence of docs/metrics.md, with the unit and what is
 * healthy. Nothing where nothing is known.
 */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Term, TermKind, Terms } from '../../wire/index.ts';
import { useData } from '../data/useData.ts';

const terms = signal<Terms['terms']>({});
const shown = signal<{ readonly name: string; readonly term: Term } | null>(null);
const ID = 'about';

export function closeAbout(): void {
  document.getElementById(ID)?.hidePopover?.();
}

export function termOf(kind: TermKind, name: string): Term | undefined {
  return terms.value[`${kind} ${name.replace(/@\d+$/, '@k')}`];
}

export function About({
  kind = 'metric',
  name,
}: {
  readonly kind?: TermKind;
  readonly name: string;
}) {
  const term = termOf(kind, name);
  if (term === undefined) return null;
  return (
    <button
      type="button"
      class="about"
      aria-label={`about ${name}`}
      popovertarget={ID}
      onClick={(event) => {
        shown.value = { name, term };
        const { left, bottom } = event.currentTarget.getBoundingClientRect();
        const { style } = document.getElementById(ID)!;
        style.left = `${Math.max(8, Math.min(left - 12, innerWidth - 336))}px`;
        style.top = `${Math.min(bottom + 6, innerHeight - 180)}px`;
      }}
    >
      i
    </button>
  );
}

/** Where it opens: once in a page. */
export function Abouts() {
  const { data } = useData<Terms>('/terms.json');
  useEffect(() => {
    if (data !== null) terms.value = data.terms;
  }, [data]);
  return (
    <div id={ID} popover="auto" role="note">
      <b>{shown.value?.name}</b>
      <p>{shown.value?.term.what}</p>
      {(['unit', 'healthy'] as const).map((row) => {
        const text = shown.value?.term[row] ?? '';
        return (
          text !== '' && (
            <p key={row}>
              <span class="muted">{row}:</span> {text}
            </p>
          )
        );
      })}
    </div>
  );
}
