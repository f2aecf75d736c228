/** The frame of every view: head, tabs, banners, the list of keys, and the view that the address names. */
import { useEffect, useRef } from 'preact/hooks';
import { type RunHead, type RunPage, runPages, runViews } from '../wire/index.ts';
import { nowMs } from './data/clock.ts';
import { frozen } from './data/frozen.ts';
import { type Does, lettersOn, setLetters, useKeys } from './data/keyboard.ts';
import { at, go, linkAt, linkTo, place, query, route, setQuery } from './data/place.ts';
import { shownHead } from './data/shownHead.ts';
import { change, head, heardAtMs, mill, retries, streamState } from './data/stream.ts';
import { command, copy, toast } from './data/take.ts';
import { age, short } from './logic/format.ts';
import { keyHelp } from './logic/keys.ts';
import { type Route, searchOf, stepOf } from './logic/route.ts';
import { Abouts, closeAbout } from './parts/About.tsx';
import { RunName, Said, State } from './parts/basics.tsx';
import { titleOf, View } from './views.tsx';

export function App() {
  const now = route.value;
  const run = 'run' in now ? now.run : null;
  const shown = head.value ?? shownHead.value;
  const ofRun = shown !== null && shown.name === run ? shown : null;
  const help = useRef<HTMLDialogElement>(null);
  const toStep = (by: number): void => {
    const last = ofRun?.step ?? null;
    const here = stepOf(query.value) ?? last;
    if (run === null || here === null || now.page === 'results') return;
    const step = Math.max(0, here + by);
    if (last !== null && at.value === '' && by > 0) return;
    setQuery({ at: `step:${step}` }, false);
  };
  useKeys({
    ...runKeys((page) => {
      if (run !== null) go(linkAt({ page, run, id: '' }));
    }),
    diff: () => {
      if (run !== null) go(linkTo(`/?diff=${encodeURIComponent(run)}`));
    },
    stepBack: () => toStep(-1),
    stepForward: () => toStep(1),
    live: () => {
      if (at.value !== '') setQuery({ at: undefined }, false);
    },
    copyLink: () => void copy(location.href, 'link'),
    copyCommand: () => {
      if (command.value !== '') void copy(command.value, 'command');
    },
    filter: () => document.querySelector<HTMLInputElement>('main input[type="search"]')?.focus(),
    help: () => help.current?.showModal(),
    leave: () => {
      help.current?.close();
      closeAbout();
    },
  });

  // Another view: its name is the title, and the keyboard is at its beginning.
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  const path = place.value.path;
  useEffect(() => {
    document.title = titleOf(now);
    if (!first.current) main.current?.focus({ preventScroll: true });
    first.current = false;
  }, [path]);
  useEffect(() => {
    const link = document.querySelector<HTMLLinkElement>('link[rel="canonical"]');
    if (link !== null && frozen === null) link.href = place.value.path + searchOf(query.value);
  }, [place.value]);

  const away = streamState.value === 'lost';
  return (
    <>
      <button type="button" class="unseen skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header>
        <div class="top">
          <a href={linkTo('/')} class="brand" aria-label="Millrace, all runs">
            <Wheel />
            <span class="brand-name">Millrace</span>
          </a>
          {run !== null && <RunLine run={run} head={ofRun} toStep={toStep} />}
          {run === null && <span class="grow" />}
          <button
            type="button"
            class="quiet"
            aria-label="keys"
            onClick={() => help.current?.showModal()}
          >
            <kbd>?</kbd>
          </button>
        </div>
        {run === null ? <div class="tabs" /> : <Tabs run={run} now={now} />}
        <Banners away={away} head={ofRun} />
      </header>
      <main id="main" ref={main} tabIndex={-1} class={away ? 'stale' : undefined}>
        <View route={now} />
      </main>
      <p class="unseen" role="status" aria-live="polite">
        {away ? 'connection to the server lost' : (change.value?.text ?? '')}
      </p>
      {toast.value !== '' && (
        <p class="toast" role="status">
          {toast.value}
        </p>
      )}
      <Help dialog={help} />
      <Abouts />
    </>
  );
}

/** The key of every view leads to it. */
function runKeys(to: (page: RunPage) => void): Does {
  return Object.fromEntries(runPages.map((page) => [page, () => to(page)]));
}

const tabs = runPages.flatMap((page) => {
  const { tab } = runViews[page];
  return tab === undefined ? [] : [{ page, tab }];
});

function Tabs({ run, now }: { readonly run: string; readonly now: Route }) {
  const isRollout = now.page === 'question' || now.page === 'trajectory';
  const here = isRollout ? 'rollouts' : now.page;
  // On a phone they do not all have room: the one that is shown is in sight.
  const bar = useRef<HTMLElement>(null);
  useEffect(() => {
    const one = bar.current?.querySelector<HTMLElement>('[aria-current]');
    if (one)
      bar.current!.scrollLeft = one.offsetLeft - (bar.current!.clientWidth - one.offsetWidth) / 2;
  }, [now.page]);
  return (
    <nav class="tabs" aria-label="Views of this run" ref={bar}>
      {tabs.map(({ page, tab }) => (
        <a
          key={page}
          href={linkAt({ page, run, id: '' })}
          aria-current={here === page ? 'page' : undefined}
        >
          {tab}
        </a>
      ))}
      {frozen === null && <a href={`/?diff=${encodeURIComponent(run)}`}>Diff</a>}
    </nav>
  );
}

function RunLine({
  run,
  head: of,
  toStep,
}: {
  readonly run: string;
  readonly head: RunHead | null;
  readonly toStep: (by: number) => void;
}) {
  const pinned = at.value;
  const now = mill.value?.run === run ? mill.value : null;
  const speed = now?.tokensPerSecond.generated ?? null;
  return (
    <>
      <a class="run-name" href={linkAt({ page: 'results', run, id: '' })}>
        <RunName run={run} />
      </a>
      {of !== null && <State state={of.state} />}
      {of !== null && (
        <ul class="facts">
          {of.step !== null && pinned === '' && (
            <li>
              <span>step</span> <b>{of.step}</b>
            </li>
          )}
          {of.version !== null && pinned === '' && (
            <li>
              <span>version</span> <b>{of.version}</b>
            </li>
          )}
          {pinned === '' && of.state === 'live' && now?.policyLag != null && (
            <li title="versions that rollouts lag behind / allowed lag">
              <span>lag</span>{' '}
              <b>
                {now.policyLag}
                {now.policyLagMax === null ? '' : `/${now.policyLagMax}`}
              </b>
            </li>
          )}
          {pinned === '' && of.state === 'live' && speed !== null && (
            <li>
              <b>{short(speed)}</b> <span>tokens/s</span>
            </li>
          )}
        </ul>
      )}
      <span class="grow" />
      {of?.step != null && route.value.page !== 'results' && (
        <span class={pinned === '' ? 'moment' : 'moment pinned'} role="group" aria-label="moment">
          <button type="button" class="quiet" aria-label="one step back" onClick={() => toStep(-1)}>
            ‹
          </button>
          <span class="num">{pinned === '' ? 'now' : pinned.replace(':', ' ')}</span>
          <button
            type="button"
            class="quiet"
            aria-label="one step forward"
            disabled={pinned === ''}
            onClick={() => toStep(1)}
          >
            ›
          </button>
        </span>
      )}
    </>
  );
}

function Banners({ away, head: of }: { readonly away: boolean; readonly head: RunHead | null }) {
  nowMs.value;
  const silent = heardAtMs.value === null ? null : performance.now() - heardAtMs.value;
  return (
    <>
      {away && (
        <div class="banner">
          <b>No connection to the server.</b>
          <span>
            {silent === null ? 'No data yet' : `Last update ${age(silent)} ago`}; tried{' '}
            {retries.value} {retries.value === 1 ? 'time' : 'times'}, still trying. This page may be
            out of date.
          </span>
        </div>
      )}
      {at.value !== '' && (
        <div class="banner">
          <span>
            As of <b>{at.value.replace(':', ' ')}</b>: this page shows what was known then.
          </span>
          <button type="button" onClick={() => setQuery({ at: undefined }, false)}>
            Back to now
          </button>
        </div>
      )}
      {of !== null && of.stateText !== '' && (
        <div class={of.state === 'failed' || of.state === 'silent' ? 'banner grave' : 'banner'}>
          <span>
            <Said text={of.stateText} />
          </span>
        </div>
      )}
      {frozen !== null && (
        <div class="banner">
          <span>
            Frozen {new Date(frozen.frozenMs).toISOString().slice(0, 16).replace('T', ' ')} UTC.{' '}
            {frozen.leftOut}
          </span>
        </div>
      )}
    </>
  );
}

function Help({ dialog }: { readonly dialog: { readonly current: HTMLDialogElement | null } }) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself.
    <dialog
      ref={dialog}
      aria-labelledby="keys-title"
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current?.close();
      }}
    >
      <div class="bar">
        <h1 id="keys-title">Keys</h1>
        <span class="grow" />
        <label>
          <input
            type="checkbox"
            checked={lettersOn.value}
            onChange={(event) => setLetters(event.currentTarget.checked)}
          />
          Single-key shortcuts
        </label>
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
      <div class="keys">
        {keyHelp.map(([title, keys]) => (
          <section key={title}>
            <h2>{title}</h2>
            <dl>
              {keys.map(([names, does]) => (
                <>
                  <dt>
                    {names.split(' ').map((name, i) => (
                      <>
                        {i > 0 && ' '}
                        <kbd>{name}</kbd>
                      </>
                    ))}
                  </dt>
                  <dd>{does}</dd>
                </>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </dialog>
  );
}

/** A mill wheel. */
function Wheel() {
  return (
    <svg
      width="20"
      height="20"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="1.8"
      aria-hidden="true"
    >
      <circle cx="12" cy="12" r="8" />
      <circle cx="12" cy="12" r="2" fill="currentColor" />
      <path d="M12 1.5v21M1.5 12h21M4.6 4.6l14.8 14.8M19.4 4.6L4.6 19.4" />
    </svg>
  );
}
