/**
 * Questions with what the policy wrote about them, tags highlighted. The text may be anything; tags need not
 * pair.
 */

import { counted, literal } from '../../base/text/index.ts';
import type { Question, Rollout } from '../../topics/index.ts';
import { type Html, html } from './html.ts';

export interface ShownTrajectory {
  /** Before the verdict, for example the time; empty for nothing. */
  readonly label: string;
  readonly right: boolean;
  readonly verdict: string;
  readonly toolCalls: number;
  readonly finish: Rollout['finish'];
  /** More of it in a few words. */
  readonly facts: readonly string[];
  readonly text: string;
  /** Tags of the tools that were called. */
  readonly tools: readonly string[];
}

/** `about` = why it is shown; empty for nothing. */
export function sampleBox(
  question: Question,
  about: string,
  trajectories: readonly ShownTrajectory[],
): Html {
  const { answers, source, id } = question;
  const facts = [
    ...(about === '' ? [] : [about]),
    `answer: ${answers.join(' or ')}`,
    `${source}, ${id}`,
  ];
  return html`<div class="sample"><p><b>${question.question}</b></p>
<p class="muted">${facts.join(' · ')}</p>
<div class="pair">${trajectories.map(trajectoryBox)}</div></div>`;
}

function trajectoryBox(shown: ShownTrajectory): Html {
  const { label, right, verdict, toolCalls, finish, facts } = shown;
  const more = [counted(toolCalls, 'tool call'), ...facts, `ended by ${finish}`].join(', ');
  return html`<div><p class="chip">${label === '' ? '' : `${label}: `}<b class="${right ? 'good' : 'bad'}">${verdict}</b>, ${more}</p>
${trajectoryText(shown)}</div>`;
}

/** Beyond this many lines the rest is folded away, whole lines at a time. */
const linesMax = 60;

function trajectoryText({ text, tools }: ShownTrajectory): Html {
  const tags = tagsOf(tools);
  const ends = lineEnds(text, tags);
  if (ends.length <= linesMax + 1) return html`<pre>${highlighted(text, tags).shown}</pre>`;
  const cut = ends[linesMax - 1]!;
  const first = highlighted(text.slice(0, cut), tags);
  const rest = highlighted(text.slice(cut), tags, first.open);
  return html`<pre>${first.shown}</pre>
<details><summary>${counted(ends.length - linesMax, 'more line')}</summary><pre>${rest.shown}</pre></details>`;
}

/** Where the lines of a text end, as the page shows them: each tag that opens begins a line. */
function lineEnds(text: string, tags: RegExp): number[] {
  const ends = new Set([text.length]);
  for (const { index } of text.matchAll(/\n/g)) ends.add(index + 1);
  for (const match of text.matchAll(tags)) {
    if (match.index > 0 && !match[0].startsWith('</')) ends.add(match.index);
  }
  return [...ends].sort((a, b) => a - b);
}

/**
 * The text in pieces, flat: a tag opens a colour, any closing tag ends it; `before` = the tag that is open
 * where the text begins. The style puts open tags on new lines.
 */
function highlighted(
  text: string,
  tags: RegExp,
  before: string | null = null,
): { readonly shown: readonly Html[]; readonly open: string | null } {
  const pieces: Html[] = [];
  let open = before;
  let from = 0;
  const put = (end: number): void => {
    const piece = text.slice(from, end);
    if (piece === '') return;
    pieces.push(
      open === null ? html`${piece}` : html`<span class="${classOf(open)}">${piece}</span>`,
    );
  };
  for (const match of text.matchAll(tags)) {
    put(match.index);
    from = match.index + match[0].length;
    const closing = match[0].startsWith('</');
    const afterLine = match.index === 0 || text[match.index - 1] === '\n';
    const classes = closing || afterLine ? classOf(match[1]!) : `${classOf(match[1]!)} open`;
    pieces.push(html`<b class="${classes}">${match[0]}</b>`);
    open = closing ? null : match[1]!;
  }
  put(text.length);
  return { shown: pieces, open };
}

/** The tags with a colour of their own; those of other tools share one. */
const coloured: readonly string[] = ['think', 'search', 'python', 'result', 'answer'];

function classOf(tag: string): string {
  return coloured.includes(tag) ? `t-${tag}` : 't-tool';
}

function tagsOf(tools: readonly string[]): RegExp {
  const names = [...new Set([...coloured, ...tools])].map(literal);
  return new RegExp(`</?(${names.join('|')})>`, 'g');
}
