/**
 * The strict format that Tool-Light asks of trajectories in preference pairs (§4.6): that of the reward, and every
 * call follows its thinking, every result is followed by thinking or the answer.
 */
import { stripEnd, stripStart } from './characters.ts';
import { isWellFormed } from './format.ts';
import { countPairs } from './tags.ts';

export function isPreferenceFormat(text: string): boolean {
  return (
    isWellFormed(text, 'reward') &&
    callsFollowThinking(text) &&
    resultsGoOn(text) &&
    !/<\/?(?:think|python|search)>/.test(answerOf(text))
  );
}

/** Number of tool calls in three notations: both tags and fenced Python. */
export function countCallsWithFences(text: string): number {
  const fenced = text.match(/```python.*?```/gs) ?? [];
  return countPairs(text, 'python') + countPairs(text, 'search') + fenced.length;
}

function callsFollowThinking(text: string): boolean {
  return [...text.matchAll(/<(?:python|search)>/g)].every(({ index }) =>
    stripEnd(text.slice(0, index)).endsWith('</think>'),
  );
}

function resultsGoOn(text: string): boolean {
  return text
    .split('</result>')
    .slice(1)
    .map(stripStart)
    .every((after) => after.startsWith('<think>') || after.startsWith('<answer>'));
}

function answerOf(text: string): string {
  return text.slice(text.indexOf('<answer>'), text.indexOf('</answer>'));
}
