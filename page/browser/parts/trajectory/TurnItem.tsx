/** One turn: who wrote it, the tool calls that it made, and its text. */

import { useState } from 'preact/hooks';
import { counted } from '../../../../base/text/index.ts';
import type { Call, SessionToolView, Turn } from '../../../wire/index.ts';
import { linkAt, query } from '../../data/place.ts';
import { recordLink } from '../../data/recordLink.ts';
import { milliseconds, value } from '../../logic/format.ts';
import { withQuery } from '../../logic/route.ts';
import type { ShownText } from '../../logic/shownText.ts';
import { Hostile, textOf } from '../basics.tsx';

/** A turn and its text as it is shown. */
export interface Prepared {
  readonly turn: Turn;
  readonly shown: ShownText;
  readonly blocks: readonly string[];
  readonly part: string;
  /** Calls of MCP tools that the agent made after it. */
  readonly tools: readonly SessionToolView[];
}

/** More of a tool's result than this is folded away until it is opened. */
const resultMax = 900;

export function TurnItem({
  prepared: { turn, shown, blocks, part, tools },
  here,
  run,
  id,
  closed,
  onFull,
}: {
  readonly prepared: Prepared;
  readonly id: string;
  readonly here: boolean;
  readonly run: string;
  readonly closed: boolean;
  readonly onFull: () => void;
}) {
  const isTool = turn.kind === 'tool';
  const long = isTool && shown.text.length > resultMax;
  const [opened, setOpened] = useState(false);
  const folded = long ? opened === closed : closed;
  const tokens = turn.end - turn.start;
  const facts = [
    counted(tokens, 'token'),
    turn.entropy === null ? '' : `entropy ${value(turn.entropy)}`,
    turn.logProb === null ? '' : `log-prob ${value(turn.logProb)}`,
  ].filter((fact) => fact !== '');
  return (
    <li class={`turn ${turn.kind}${here ? ' here' : ''}`} data-turn={turn.index}>
      <div class="turn-head">
        <a
          class="turn-name"
          href={linkAt(
            { page: 'trajectory', run, id },
            withQuery({ show: query.value.show ?? '' }, { turn: String(turn.index) }),
          )}
        >
          {isTool ? `${turn.tool ?? 'tool'} result` : 'policy'}
        </a>
        {!isTool && <span class="chip">v{turn.version}</span>}
        <span class="muted num">{facts.join(' · ')}</span>
        {isTool && (long || closed) && (
          <button
            type="button"
            class="quiet"
            aria-expanded={!folded}
            onClick={() => setOpened(!opened)}
          >
            {folded ? 'open' : 'close'}
          </button>
        )}
      </div>
      {turn.calls.map((call) => (
        <CallLine
          key={call.ref}
          call={call}
          run={run}
          facts={[
            call.cached ? 'cached' : '',
            call.attempts > 1 ? `${call.attempts} attempts` : '',
          ]}
        />
      ))}
      <div class={folded ? 'turn-text folded' : 'turn-text'}>
        <Blocks blocks={blocks} />
      </div>
      {part !== '' && (
        <p class="note">
          {part}{' '}
          <button type="button" class="quiet" onClick={onFull}>
            load in full
          </button>
        </p>
      )}
      {tools.map((call) => (
        <CallLine
          key={call.ref}
          call={call}
          run={run}
          facts={[call.fromRecord ? 'from the record' : '']}
          topic="mcp-calls"
        />
      ))}
    </li>
  );
}

function Blocks({ blocks }: { readonly blocks: readonly string[] }) {
  let start = 0;
  return (
    <>
      {blocks.map((block) => {
        const at = start;
        start += block.length;
        return (
          <div key={at} class="block" data-start={at}>
            {block}
          </div>
        );
      })}
    </>
  );
}

/** The result of a tool of ours is the text of its turn. */
function CallLine({
  call,
  run,
  facts,
  topic = 'tool-calls',
}: {
  readonly call: Pick<Call, 'ref' | 'tool' | 'input' | 'output' | 'ok' | 'ms'>;
  readonly run: string;
  readonly facts: readonly string[];
  readonly topic?: string;
}) {
  return (
    <p class="call">
      <span class={call.ok ? 'good' : 'bad'}>
        <span aria-hidden="true">{call.ok ? '✓' : '!'}</span> {call.ok ? 'ok' : 'failed'}
      </span>{' '}
      <code>
        {call.tool}(<Hostile text={textOf(call.input).text} max={300} />)
        {topic === 'mcp-calls' && (
          <>
            {' → '}
            <Hostile text={textOf(call.output).text} max={300} />
          </>
        )}
      </code>{' '}
      <span class="muted num">
        {[milliseconds(call.ms), ...facts].filter((fact) => fact !== '').join(' · ')}
      </span>{' '}
      <a class="muted" href={recordLink(run, topic, call.ref)}>
        record
      </a>
    </p>
  );
}
