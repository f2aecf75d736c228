/**
 * The mill: every stage with how its time divides, and what flows between them. An SVG drawn to the width it
 * has; the table of stages and topics below it says the same.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { counted } from '../../../base/text/index.ts';
import { duration, orDash, percent, rate } from '../../../summary/format/index.ts';
import type {
  Mill as MillData,
  MillSource,
  MillStage,
  MillTopic,
  Shares,
} from '../../wire/index.ts';
import { linkAt } from '../data/place.ts';
import { short } from '../logic/format.ts';
import { type Box, millLayout, partsOf } from '../logic/millLayout.ts';
import { About, termOf } from './About.tsx';
import { Scrolls, Th } from './basics.tsx';

const kinds = [
  ['busy', 'B'],
  ['starved', 'S'],
  ['blocked', 'K'],
  ['paced', 'P'],
] as const;

export function Mill({ mill, run }: { readonly mill: MillData; readonly run: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [over, setOver] = useState('');
  const known = mill.stages.some(({ shares }) => shares !== null);
  const named = mill.stages.find(({ name }) => name === over);
  useEffect(() => {
    const element = box.current!;
    const sized = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
    sized.observe(element);
    return () => sized.disconnect();
  }, []);
  return (
    <section class="card" aria-labelledby="mill-title">
      <div class="card-head">
        <h2 id="mill-title">The mill</h2>
        {known && (
          <ul class="legend">
            {kinds.map(([name, letter]) => (
              <li key={name}>
                <svg width="18" height="14" aria-hidden="true">
                  <rect class={`share ${name}`} width="18" height="14" rx="2" />
                </svg>
                <span>
                  <b>{letter}</b> {name}
                  <About kind="time" name={name} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </div>
      <div ref={box} class="mill">
        {mill.stages.length === 0 ? (
          <p class="muted">No process of this run has reported its stages.</p>
        ) : (
          width > 0 && <Drawing mill={mill} run={run} width={width} onOver={setOver} />
        )}
      </div>
      {known && (
        <p class="note mill-note" aria-live="polite">
          {named === undefined
            ? 'Point at a stage, or reach it by Tab, for what its numbers mean.'
            : about(named)}
        </p>
      )}
    </section>
  );
}

function Drawing({
  mill,
  run,
  width,
  onOver,
}: {
  readonly mill: MillData;
  readonly run: string;
  readonly width: number;
  readonly onOver: (stage: string) => void;
}) {
  const layout = millLayout(partsOf(mill.sources, mill.stages), width);
  const { boxes, bands, flows } = layout;
  // What a part writes is what flows out of it: the same number on both.
  const rates = new Map<string, number>([
    ...mill.sources.map(({ name, perSecond }) => [name, perSecond] as const),
    ...mill.stages.map(({ name, outPerSecond }) => [name, outPerSecond] as const),
  ]);
  const now = mill.rates === 'now';
  return (
    <svg
      class={`mill-drawing ${layout.shape}`}
      width={width}
      height={layout.height}
      viewBox={`0 0 ${width} ${layout.height}`}
      role="group"
      aria-label={`${mill.health.text} ${mill.stages.map(said).join('; ')}`}
    >
      <defs>
        <marker
          id="head"
          viewBox="0 0 8 8"
          refX="2"
          refY="4"
          markerWidth="7"
          markerHeight="7"
          orient="auto"
        >
          <path d="M0 0L8 4L0 8z" class="arrow-head" />
        </marker>
        <pattern
          id="starved-lines"
          width="6"
          height="6"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect width="6" height="6" class="starved-ground" />
          <line x1="0" y1="0" x2="0" y2="6" class="starved-line" />
        </pattern>
      </defs>
      {bands.map(({ phase, x, y, width: wide, height }) => {
        const done = mill.stages.some((stage) => stage.phase === phase && stage.finished);
        return (
          <g key={phase} class="band">
            <rect x={x} y={y} width={wide} height={height} rx="10" />
            <text x={x + 12} y={y + 15}>
              {done ? `${phase}: finished` : phase}
            </text>
          </g>
        );
      })}
      {flows.map(({ from, to, topic, path, back, label }) => (
        <g
          key={`${from}>${to}>${topic}`}
          class={`flow${back ? ' back' : ''}${now && rates.get(from)! > 0 ? ' moving' : ''}`}
        >
          <path d={path} marker-end="url(#head)" />
          {label !== null && (
            <text x={label.x} y={label.y} text-anchor="middle">
              {topic === 'weights'
                ? `weights${mill.version === null ? '' : ` · v${mill.version}`}`
                : back
                  ? topic
                  : now && rates.get(from)! > 0
                    ? `${rate(rates.get(from)!)}/s`
                    : ''}
            </text>
          )}
        </g>
      ))}
      {boxes.map((part) =>
        part.kind === 'source' ? (
          <SourceBox
            key={`source ${part.name}`}
            box={part}
            source={mill.sources.find(({ name }) => name === part.name)!}
            run={run}
            now={now}
          />
        ) : (
          <StageBox
            key={part.name}
            box={part}
            stage={mill.stages.find(({ name }) => name === part.name)!}
            limits={mill.health.stage === part.name}
            run={run}
            now={now}
            then={mill.topics.find(({ name }) => name === part.to)}
            onOver={onOver}
          />
        ),
      )}
    </svg>
  );
}

function SourceBox({
  box,
  source,
  run,
  now,
}: {
  readonly box: Box;
  readonly source: MillSource;
  readonly run: string;
  readonly now: boolean;
}) {
  const { x, y, width, height } = box;
  const isHeld = source.held > 0.05 && !source.done;
  const facts = [
    source.items === null
      ? `writes ${source.to}`
      : counted(source.items, 'item', short(source.items)),
    source.done ? 'all read' : isHeld || !now ? '' : `${rate(source.perSecond)}/s`,
    isHeld ? `held ${percent(source.held, 0)}` : '',
  ].filter((fact) => fact !== '');
  return (
    <a
      href={linkAt({ page: 'topics', run, id: source.to })}
      class="part source"
      aria-description={`source ${source.name}, ${facts.join(', ')}`}
    >
      <rect x={x + 0.5} y={y + 0.5} width={width - 1} height={height - 1} rx="8" />
      <text x={x + 12} y={y + 22} class="part-name">
        {fitted(width, source.name)}
      </text>
      <text x={x + 12} y={y + 42} class="part-fact">
        {fitted(width, facts.join(' · '), facts[0]!)}
      </text>
    </a>
  );
}

function StageBox({
  box,
  stage,
  limits,
  run,
  now,
  then,
  onOver,
}: {
  readonly box: Box;
  readonly stage: MillStage;
  readonly limits: boolean;
  readonly run: string;
  readonly now: boolean;
  readonly then: MillTopic | undefined;
  readonly onOver: (stage: string) => void;
}) {
  const { x, y, width, height, brief } = box;
  const [per, into, out] = now
    ? ['/s', rate(stage.inPerSecond), rate(stage.outPerSecond)]
    : ['', short(stage.in), short(stage.out)];
  const lag = `lag ${short(stage.lag)}`;
  const work = `${stage.inflight}/${stage.inflightMax} · ${lag}`;
  return (
    <a
      href={linkAt({ page: 'topics', run, id: stage.to || stage.from })}
      class={`part stage${limits ? ' limits' : ''}${stage.isOld ? ' old' : ''}${stage.finished ? ' finished' : ''}`}
      aria-description={said(stage)}
      onPointerEnter={() => onOver(stage.name)}
      onFocus={() => onOver(stage.name)}
    >
      <rect x={x + 0.5} y={y + 0.5} width={width - 1} height={height - 1} rx="8" />
      <text x={x + 12} y={y + 22} class="part-name">
        {fitted(width - 50, stage.name)}
      </text>
      <text x={x + width - 12} y={y + 22} class="part-share" text-anchor="end">
        {brief ? '' : mostly(stage.shares)}
      </text>
      {brief && (
        <text x={x + 12} y={y + 42} class="part-fact">
          {stage.shares !== null
            ? fitted(width, `${short(stage.in)} → ${short(stage.out)} records`)
            : fitted(
                width,
                stage.to === ''
                  ? `reads ${stage.from}`
                  : `${stage.to} ${short(then?.records ?? 0)}`,
              )}
        </text>
      )}
      {!brief && stage.shares !== null && (
        <>
          <ShareBar x={x + 12} y={y + 30} width={width - 24} shares={stage.shares} />
          <text x={x + 12} y={y + 64} class="part-fact">
            {fitted(width, `${into}${per} in · ${out}${per} out`, `${into} → ${out}${per}`)}
          </text>
          <text x={x + 12} y={y + 81} class="part-fact">
            {stage.inflightMax > 0 ? fitted(width, `work ${work}`, work) : lag}
          </text>
        </>
      )}
    </a>
  );
}

/** The first of them that fits; if none does, the last is cut. Letters take about 6 px at this size. */
function fitted(width: number, ...texts: readonly string[]): string {
  const most = Math.floor((width - 22) / 6.1);
  const last = texts.at(-1)!;
  return texts.find(({ length }) => length <= most) ?? `${last.slice(0, Math.max(1, most - 1))}…`;
}

function ShareBar({
  x,
  y,
  width,
  shares,
}: {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly shares: Shares;
}) {
  const height = 16;
  let at = x;
  return (
    <g class="shares">
      <rect x={x} y={y} width={width} height={height} rx="3" class="share none" />
      {kinds.map(([name, letter]) => {
        const wide = shares[name] * width;
        const left = at;
        at += wide;
        if (wide < 0.5) return null;
        return (
          <g key={name}>
            <rect x={left} y={y} width={wide} height={height} class={`share ${name}`} />
            {wide > 13 && (
              <text
                x={left + wide / 2}
                y={y + 12}
                text-anchor="middle"
                class={`share-letter on-${name}`}
              >
                {letter}
              </text>
            )}
          </g>
        );
      })}
    </g>
  );
}

/** `B 97 %`: what it mostly does. */
function mostly(shares: Shares | null): string {
  if (shares === null) return '';
  const [name, letter] = [...kinds].sort((a, b) => shares[b[0]] - shares[a[0]])[0]!;
  return `${letter} ${percent(shares[name], 0)}`;
}

function said({ name, shares, lag, inflight, inflightMax }: MillStage): string {
  if (shares === null) return `stage ${name}`;
  const time = kinds
    .filter(([kind]) => shares[kind] >= 0.005)
    .map(([kind]) => `${kind} ${percent(shares[kind], 0)}`)
    .join(', ');
  return `stage ${name}: ${time}, ${inflight} of ${inflightMax} in work, lag ${lag}`;
}

/** What it is for, and what its numbers say. */
function about(stage: MillStage): string {
  const { name, from, inflight, inflightMax, lag, lagMs } = stage;
  const late = lagMs === null || lag === 0 ? '' : `, ${duration(lagMs / 1000)} at its rate`;
  return [
    `${name}: ${termOf('stage', name)?.what ?? `reads ${from}`}.`,
    `Work: ${inflight} of at most ${inflightMax} records in progress.`,
    `Lag: ${counted(lag, 'record', short(lag))} of ${from} not yet read${late}.`,
  ].join(' ');
}

/** What the drawing says, as rows. */
export function StageTable({ mill, run }: { readonly mill: MillData; readonly run: string }) {
  return (
    <Scrolls label="stages">
      <table>
        <thead>
          <tr>
            <Th left>stage</Th>
            <Th left>from → to</Th>
            {kinds.map(([name, letter]) => (
              <Th key={name}>{`${letter} ${name}`}</Th>
            ))}
            <Th>in work</Th>
            <Th>in /s</Th>
            <Th>out /s</Th>
            <Th>lag</Th>
          </tr>
        </thead>
        <tbody>
          {mill.stages.map((stage) => (
            <tr key={stage.name}>
              <th scope="row">
                {stage.name}
                <About kind="stage" name={stage.name} />
              </th>
              <td class="l">
                <a href={linkAt({ page: 'topics', run, id: stage.from })}>{stage.from}</a>
                {stage.to !== '' && (
                  <>
                    {' → '}
                    <a href={linkAt({ page: 'topics', run, id: stage.to })}>{stage.to}</a>
                  </>
                )}
              </td>
              {kinds.map(([name]) => (
                <td key={name}>{orDash(stage.shares?.[name], (share) => percent(share, 0))}</td>
              ))}
              <td>
                {stage.inflight}/{stage.inflightMax}
              </td>
              <td>{rate(stage.inPerSecond)}</td>
              <td>{rate(stage.outPerSecond)}</td>
              <td>{stage.lag}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolls>
  );
}
