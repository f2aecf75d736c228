/**
 * Progress on a terminal: one status line that ora keeps at the bottom, and above it one permanent line per
 * evaluation.
 */

import { colours, folded } from '../../base/terminal/index.ts';
import { counted } from '../../base/text/index.ts';
import {
  count,
  doneText,
  eventLine,
  leftText,
  measuringText,
  type ProgressScreen,
  type ProgressStatus,
} from '../../sinks/progress/index.ts';
import type { Io } from '../io.ts';
import { spinner } from './spinner.ts';

export interface LiveOptions {
  readonly print: (line: string) => void;
  readonly stream: NodeJS.WriteStream;
  readonly io: Io;
}

export function liveScreen({ print, stream, io }: LiveOptions): ProgressScreen {
  const colour = io.colour?.err === true;
  const { warn } = colours(colour);
  const drawn = spinner(io, stream).start('starting');
  const say = (line: string): void => {
    drawn.clear();
    print(line);
    drawn.render();
  };
  return {
    event(event) {
      if (event.kind === 'evaluation') say(folded(eventLine(event), stream.columns));
    },
    warning({ text }) {
      say(warn(`warning: ${text}`));
    },
    status(status) {
      drawn.text = statusText(status, { columns: stream.columns, colour });
    },
    close() {
      drawn.stop();
    },
  };
}

const BAR = 20;
/** Width of the spinner, and of the last column, at which some terminals wrap. */
const BESIDE = 4;

/** The bar, then as much of the facts as there is room for; the last ones are dropped first. */
export function statusText(
  status: ProgressStatus,
  { columns, colour }: { readonly columns: number; readonly colour: boolean },
): string {
  const { dim, name } = colours(colour);
  const { share, roundName, step, steps, leftMs, reward, pulse } = status;
  // An endless job has no share done, so no bar; nor has one that has barely begun.
  const percent = doneText(share);
  const filled = Math.round((share ?? 0) * BAR);
  const done = percent === '' ? '' : ` ${percent.padStart(5)}`;
  const of = steps === null ? '' : ` of ${steps}`;
  const { generatedPerSecond: generated, trainedPerSecond: trained } = status;
  const parts = [
    ...(status.measuring === null ? [roundName] : measuringText(status)),
    ...(step === null || status.measuring !== null ? [] : [`step ${step}${of}`]),
    ...(leftMs === null ? [] : [leftText(leftMs)]),
    ...(generated === null ? [] : [`${count(generated)} tok/s out`]),
    ...(reward === null ? [] : [`reward ${reward.toFixed(2)}`]),
    ...(trained === null ? [] : [`${count(trained)} tok/s trained`]),
    ...(typeof pulse === 'string' ? [] : [`${counted(pulse.inflight, 'group')} in flight`]),
  ].filter((text) => text !== '');
  const room = columns - BESIDE - (percent === '' ? 0 : BAR + done.length + 2);
  let used = 0;
  const fitting = parts.filter((text) => {
    used += text.length + (used === 0 ? 0 : 3);
    return used <= room;
  });
  if (percent === '') return fitting.join(' · ');
  const bar = `${name('━'.repeat(filled))}${dim('─'.repeat(BAR - filled))}`;
  return `${bar}${done}  ${fitting.join(' · ')}`;
}
