/**
 * The picture at the top of the README: the first and the last measured rollout of one question in a real
 * run, side by side.
 *
 *   millrace tap first.rollouts --question heldout-29 -o ndjson | npx tsx scripts/docs/picture.ts > docs/pictures/trajectory.svg
 */
import { readFileSync } from 'node:fs';
import type { Rollout } from '../../topics/index.ts';

const COLUMN = 424;
const GAP = 16;
const LINE = 18;
const TOP = 96;
/** Characters in a line of a column. */
const WIDTH = 53;

const rollouts = readFileSync(0, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Rollout)
  .filter(({ question: { phase }, status }) => phase === 'evaluate' && status === 'done')
  .sort((a, b) => a.version - b.version || a.index - b.index);
const [before, after] = [rollouts[0], rollouts.at(-1)];
if (before === undefined || after === undefined)
  throw new Error(
    'give rollouts of a held-out question on stdin: millrace tap RUN.rollouts --question ID -o ndjson',
  );

/** The text between tags, in order. */
function partsOf(text: string): { readonly kind: string; readonly lines: readonly string[] }[] {
  return [...text.matchAll(/<(think|search|python|result|answer)>([\s\S]*?)<\/\1>/g)].map(
    ([, kind, inside]) => {
      const said = inside!
        .trim()
        .replace(/\s+/g, ' ')
        .replace(/\\boxed\{(.*)\}/, '$1');
      const name = kind === 'think' ? '' : kind === 'result' ? '→ ' : `${kind}: `;
      return { kind: kind!, lines: wrapped(`${name}${said}`) };
    },
  );
}

function wrapped(text: string): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1)!;
    if (last !== '' && last.length + word.length >= WIDTH) lines.push(`  ${word}`);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
}

const escaped = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

function column(rollout: Rollout, title: string, x: number): { svg: string; height: number } {
  const gold = rollout.question.answers[0];
  const parts = partsOf(rollout.text);
  const isRight = parts.at(-1)?.lines.join(' ').endsWith(`answer: ${gold}`) === true;
  let y = TOP;
  const drawn = parts.map(({ kind, lines }) => {
    const mark = kind === 'answer' ? (isRight ? ' right' : ' wrong') : '';
    const height = lines.length * LINE + 8;
    const text = lines
      .map(
        (line, i) =>
          `<text x="${x + 10}" y="${y + 17 + i * LINE}" class="${kind}${mark}">${escaped(line.replace(/^ {2}/, '\u00a0\u00a0'))}</text>`,
      )
      .join('');
    const box = `<rect x="${x}" y="${y}" width="${COLUMN}" height="${height}" rx="4" class="box ${kind}${mark}"/>`;
    y += height + 4;
    return box + text;
  });
  const calls = `${rollout.toolCalls} tool calls, ${isRight ? 'right' : `wrong: it is ${gold}`}`;
  const head =
    `<text x="${x}" y="66" class="head">${title}</text>` +
    `<text x="${x}" y="84" class="${isRight ? 'good' : 'bad'}">${isRight ? '✓' : '✗'} ${calls}</text>`;
  return { svg: head + drawn.join(''), height: y };
}

const left = column(before, 'before training', 16);
const right = column(after, `after ${after.version} steps`, 16 + COLUMN + GAP);
const width = 2 * COLUMN + GAP + 32;
const height = Math.max(left.height, right.height) + 12;
const title = `One question before and after training: ${before.question.question}`;
process.stdout.write(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<style>
text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328 }
.page { fill: #fff; stroke: #d1d9e0 }
.title { font: 600 16px system-ui, sans-serif } .head { font: 600 13px system-ui, sans-serif }
text.think { fill: #59636e; font-style: italic } .box { fill: none }
.box.search, .box.python { fill: #ddf4ff } .box.result { fill: #f6f8fa }
.box.right { fill: #dafbe1 } .box.wrong { fill: #ffebe9 }
.good { fill: #1a7f37; font-weight: 600 } .bad { fill: #cf222e; font-weight: 600 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .page { fill: #0d1117; stroke: #30363d } text.think { fill: #9198a1 }
.box.search, .box.python { fill: #0c2d6b } .box.result { fill: #1c2129 }
.box.right { fill: #04361a } .box.wrong { fill: #5c1a1b } .good { fill: #56d364 } .bad { fill: #ff7b72 }
}
</style>
<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8" class="page"/>
<text x="16" y="34" class="title">${escaped(before.question.question)}</text>
${left.svg}
${right.svg}
</svg>
`);
