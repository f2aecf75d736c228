/** A record as a row: a line about it, its value, and the pages about what it names. Pure. */

import { counted } from '../../streams/doctor/counted.ts';
import type { Stored } from '../../streams/log.ts';
import type * as r from '../../streams/records.ts';
import { topics } from '../../streams/topics.ts';
import { significant } from '../numbers.ts';
import { refOf } from './refs.ts';
import { shown } from './shown.ts';
import type { TopicRow } from './wire.ts';

const LINE_MAX = 200;

export interface RowOptions {
  readonly run: string;
  readonly textMax: number;
}

export function rowOf(stored: Stored<unknown>, { run, textMax }: RowOptions): TopicRow {
  const { position, key, atMs, bytes } = stored;
  const { value, cut } = shown(stored.value, { textMax });
  const { line, links } = aboutOf(stored, run);
  const { partition, offset } = position;
  return {
    ref: refOf(position),
    partition,
    offset,
    key,
    atMs,
    bytes,
    line: line.length > LINE_MAX ? `${line.slice(0, LINE_MAX)}…` : line,
    value,
    cut,
    links,
  };
}

type About = Pick<TopicRow, 'line' | 'links'>;

const short = significant(3);

function aboutOf({ topic, position, value }: Stored<unknown>, run: string): About {
  const at = `/r/${encodeURIComponent(run)}`;
  const question = (id: string) => ({
    label: `question ${id}`,
    href: `${at}/q/${encodeURIComponent(id)}`,
  });
  switch (topic) {
    case topics.questions.name: {
      const { id, question: text, phase, stage } = value as r.Question;
      return { line: `${phase} ${stage}: ${text}`, links: [question(id)] };
    }
    case topics.rollouts.name: {
      const { question: q, index, finish, tokens, toolCalls, version } = value as r.Rollout;
      const line = `rollout ${index} of ${q.id}, ${q.phase} ${q.stage}: ${finish}, ${counted(tokens.length, 'token')}, ${counted(toolCalls, 'call')}, v${version}`;
      const trajectory = { label: 'trajectory', href: `${at}/t/${refOf(position)}` };
      return { line, links: [trajectory, question(q.id)] };
    }
    case topics.toolCalls.name: {
      const { tool, input, ok, cached, ms, rolloutId, questionId } = value as r.ToolCall;
      const how = `${ok ? 'ok' : 'failed'}${cached ? ', cached' : ''}, ${Math.round(ms)} ms`;
      const trajectory = { label: 'trajectory', href: `${at}/t/${encodeURIComponent(rolloutId)}` };
      return { line: `${tool}(${input}): ${how}`, links: [trajectory, question(questionId)] };
    }
    case topics.scored.name: {
      const { question: q, rewards } = value as r.Scored;
      const scores = rewards.map(({ score }) => short(score)).join(' ');
      return { line: `${q.id}, ${q.phase} ${q.stage}: rewards ${scores}`, links: [question(q.id)] };
    }
    case topics.selected.name: {
      const { question: q, kept, why, front } = value as r.Selected;
      const line = `${q.id}: ${kept ? 'kept' : 'not kept'}, ${why}, front ${front}`;
      return { line, links: [question(q.id)] };
    }
    case topics.batches.name: {
      const { step, stage, kind, groups, examples } = value as r.Batch;
      const what =
        kind === 'policy' ? counted(groups.length, 'group') : counted(examples.length, 'example');
      const made = { label: `as of step ${step}`, href: `${at}?at=step:${step}` };
      return { line: `step ${step}, stage ${stage}: ${what} (${kind})`, links: [made] };
    }
    case topics.weights.name: {
      const { version, step, bytes } = value as r.Weights;
      const weights = { label: `weights ${version}`, href: `${at}/weights/${version}` };
      return { line: `version ${version} of step ${step}, ${bytes} bytes`, links: [weights] };
    }
    case topics.metrics.name: {
      const { name, step, value: number } = value as r.Metric;
      const curve = { label: 'curve', href: `${at}/metrics?m=${encodeURIComponent(name)}` };
      return { line: `${name} = ${number} at step ${step}`, links: [curve] };
    }
    case topics.evolved.name: {
      const { question: q, round, action, correct } = value as r.Evolved;
      const line = `${q.id}, round ${round}: ${action}, ${correct ? 'right' : 'wrong'}`;
      return { line, links: [question(q.id)] };
    }
    case topics.demonstrations.name: {
      const { question: q, kept, dropped } = value as r.Demonstrations;
      const line = `${q.id}: ${kept.length} kept, ${dropped.length} dropped`;
      return { line, links: [question(q.id)] };
    }
    case topics.pairs.name: {
      const { question: q, pairs } = value as r.Pairs;
      return { line: `${q.id}: ${counted(pairs.length, 'pair')}`, links: [question(q.id)] };
    }
    case topics.windows.name: {
      const { stage, size, why } = value as r.Window;
      return {
        line: `stage ${stage}: ${counted(size, 'candidate')}, cut as it was ${why === 'full' ? 'full' : 'time'}`,
        links: [],
      };
    }
    case topics.control.name: {
      const { kind, setting, value: given } = value as r.Control;
      return { line: kind === 'set' ? `set ${setting} = ${given}` : kind, links: [] };
    }
    case topics.deadLetters.name: {
      const { origin, place, reason } = value as r.DeadLetter;
      return { line: `${origin}@${place}: ${reason}`, links: [] };
    }
    default:
      return { line: '', links: [] };
  }
}
