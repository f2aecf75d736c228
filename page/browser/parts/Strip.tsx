/**
 * The whole response as a strip of pixels, the higher the less expected; a click or the arrow keys go to a
 * token.
 */

import { useEffect, useRef } from 'preact/hooks';
import { thousands } from '../../../base/text/index.ts';
import type { TrajectoryData } from '../../wire/index.ts';
import { query, setQuery } from '../data/place.ts';
import { value } from '../logic/format.ts';
import { amountOf, levelOf, stripOf } from '../logic/paint.ts';
import type { Tokens } from '../logic/tokens.ts';
import { appearance } from './appearance.ts';
import { penOf } from './pen.ts';

export function Strip({
  tokens,
  paint,
  data,
}: {
  readonly tokens: Tokens;
  readonly paint: 'logprob' | 'entropy';
  readonly data: TrajectoryData;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const token = query.value.tok === undefined ? null : Number(query.value.tok);
  const scheme = appearance.value;
  useEffect(() => {
    const element = canvas.current!;
    const draw = (): void => drawn(element, tokens, paint, token, data);
    const sized = new ResizeObserver(draw);
    sized.observe(element);
    return () => sized.disconnect();
  }, [tokens, paint, token, scheme]);
  const to = (next: number): void =>
    setQuery({ tok: String(Math.max(0, Math.min(tokens.count - 1, next))), turn: undefined });
  const most = Math.max(...stripOf(tokens, paint, 200));
  return (
    <canvas
      ref={canvas}
      class="strip"
      role="img"
      tabIndex={0}
      aria-label={`${paint === 'logprob' ? 'surprise' : 'entropy'} along ${thousands(tokens.count)} tokens, at most ${value(most)} nats; arrow keys go from token to token`}
      onClick={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        const from = ((event.clientX - box.left) / box.width) * tokens.count;
        // The pixel that was meant: its highest token.
        const width = tokens.count / box.width;
        let best = Math.floor(from);
        for (let i = Math.floor(from - 2 * width); i <= from + 2 * width; i++) {
          if (amountOf(tokens, paint, i) > (amountOf(tokens, paint, best) || 0)) best = i;
        }
        to(best);
      }}
      onKeyDown={(event) => {
        const by = {
          ArrowLeft: -1,
          ArrowRight: 1,
          Home: Number.NEGATIVE_INFINITY,
          End: Number.POSITIVE_INFINITY,
        }[event.key];
        if (by === undefined) return;
        event.preventDefault();
        to((token ?? 0) + by);
      }}
    />
  );
}

function drawn(
  canvas: HTMLCanvasElement,
  tokens: Tokens,
  paint: 'logprob' | 'entropy',
  token: number | null,
  data: TrajectoryData,
): void {
  if (canvas.clientWidth === 0) return;
  const { pen, width, height, colour } = penOf(canvas);
  // Turns of tools, which the policy only read.
  pen.fillStyle = colour('--line');
  for (const { kind, start, end } of data.turns) {
    if (kind !== 'tool') continue;
    const left = (start / tokens.count) * width;
    pen.fillRect(left, height - 4, Math.max(1, ((end - start) / tokens.count) * width), 4);
  }
  const columns = Math.min(tokens.count, Math.floor(width));
  const strip = stripOf(tokens, paint, columns);
  const step = width / columns;
  strip.forEach((amount, i) => {
    const level = levelOf(amount, paint);
    if (level === 0) return;
    const tall = Math.sqrt(Math.min(1, amount / 6)) * (height - 8) + 2;
    pen.fillStyle = colour(level >= 6 ? '--s3' : '--s0');
    pen.fillRect(i * step, height - 4 - tall, Math.max(1, step - (step > 3 ? 1 : 0)), tall);
  });
  pen.fillStyle = colour('--strong');
  pen.fillRect(0, height - 4, width, 1);
  if (token !== null) {
    pen.fillStyle = colour('--ink');
    pen.fillRect((token / tokens.count) * width, 0, 2, height);
  }
}
