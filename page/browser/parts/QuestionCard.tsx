/** What was asked, and the answers that count as right; a long question scrolls in its place. */
import type { ComponentChildren } from 'preact';
import type { QuestionFacts } from '../../wire/index.ts';
import { Hostile, textOf } from './basics.tsx';

/** More than this may be higher than its place, which the keyboard then scrolls. */
const shortMax = 1000;

export function QuestionCard({
  question,
  children,
}: {
  readonly question: QuestionFacts;
  readonly children?: ComponentChildren;
}) {
  const { text, part } = textOf(question.text);
  return (
    <section class="card question" aria-label="question">
      <p class="question-text" tabIndex={text.length > shortMax ? 0 : undefined}>
        <Hostile text={text} />
      </p>
      {part !== '' && <p class="note">{part}</p>}
      <p class="muted">
        expected{' '}
        <b>
          <Hostile text={question.answers.join(' or ')} max={400} />
        </b>{' '}
        · {question.source} · {question.ability}
      </p>
      {children}
    </section>
  );
}
