/**
 * Reading the replies of judge models (ET-Agent §9.4, §10).
 */
import { nextBlock } from '../../dialect/tags.ts';
import { isSpace } from '../../text/characters.ts';

/** Whether a judge called an answer correct: inside its judgment tags if it has both, otherwise anywhere. */
export function saysCorrect(reply: string): boolean {
  const verdict = verdictIn(reply);
  const denies = ['incorrect', 'wrong', 'not correct'].some((word) => verdict.includes(word));
  return verdict.includes('correct') && !denies;
}

/** Whether a judge called an answer correct or wrong at all. */
export function saysVerdict(reply: string): boolean {
  const verdict = verdictIn(reply);
  return verdict.includes('correct') || verdict.includes('wrong');
}

function verdictIn(reply: string): string {
  const lower = reply.toLowerCase();
  const open = lower.indexOf('<judgment>');
  const close = lower.indexOf('</judgment>');
  return open >= 0 && close >= 0 ? lower.slice(open + '<judgment>'.length, close) : lower;
}

/** A vote on whether a trajectory has redundant tool calls; null if the reply says neither. */
export function redundancyVote(reply: string): 'yes' | 'no' | null {
  const lower = reply.toLowerCase();
  const answer = nextBlock(lower, 'answer')?.inner ?? lower;
  const start = [...answer].findIndex((character) => !isQuoteOrSpace(character));
  const bare = start < 0 ? '' : [...answer].slice(start).join('');
  if (bare.startsWith('yes')) return 'yes';
  return bare.startsWith('no') ? 'no' : null;
}

/** What may precede a vote. Dashes, stars and other quotes may not, as released. */
function isQuoteOrSpace(character: string): boolean {
  return isSpace(character) || '.,;:!?"\'()[]{}'.includes(character);
}

/** A trajectory is concise unless more votes call it redundant than not. */
export function isConcise(votes: readonly ('yes' | 'no' | null)[]): boolean {
  const yes = votes.filter((vote) => vote === 'yes').length;
  return yes <= votes.filter((vote) => vote === 'no').length;
}
