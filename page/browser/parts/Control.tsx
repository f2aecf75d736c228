/** Buttons that change a run, if the server allows it; a field for its token until that is entered. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { replayFrom } from '../../wire/index.ts';
import { ask, control, lookControl, token } from '../data/control.ts';
import { refreshes } from '../data/stream.ts';
import { Hostile } from './basics.tsx';

/** Begin nothing new, and go on. */
export function Admission({ run }: { readonly run: string }) {
  const set = (paused: boolean) => () => void ask('admission', { run, paused });
  return (
    <Controlled>
      <button type="button" onClick={set(true)}>
        Pause
      </button>
      <button type="button" onClick={set(false)}>
        Resume
      </button>
    </Controlled>
  );
}

/** Verify and replay, and what the last of them said. */
export function Recompute({ run }: { readonly run: string }) {
  const [from, setFrom] = useState('scored');
  const job = control.value?.job ?? null;
  const busy = job?.state === 'running';
  return (
    <>
      <Controlled>
        <button type="button" disabled={busy} onClick={() => void ask('verify', { run })}>
          Verify
        </button>
        <button type="button" disabled={busy} onClick={() => void ask('replay', { run, from })}>
          Replay
        </button>
        <label>
          from{' '}
          <select value={from} onChange={(event) => setFrom(event.currentTarget.value)}>
            {replayFrom.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
      </Controlled>
      {job !== null && (
        <section aria-label="recomputing">
          <p role="status">
            <code>{job.command}</code> {busy ? 'is running' : job.state}
          </p>
          <pre tabIndex={0}>
            <Hostile text={job.output} />
          </pre>
        </section>
      )}
    </>
  );
}

function Controlled({ children }: { readonly children: ComponentChildren }) {
  useEffect(() => {
    void lookControl();
  }, [refreshes.value]);
  const [typed, setTyped] = useState('');
  if (control.value?.control !== true) return null;
  if (token.value !== '') return <p class="bar control">{children}</p>;
  return (
    <form
      class="bar control"
      onSubmit={(event) => {
        event.preventDefault();
        token.value = typed.trim();
        setTyped('');
      }}
    >
      <label>
        Control token{' '}
        <input
          type="text"
          spellcheck={false}
          autocomplete="off"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Use</button>
    </form>
  );
}
