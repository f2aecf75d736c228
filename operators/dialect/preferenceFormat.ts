/**
 * The strict format that Tool-Light asks of trajectories in preference pairs (§4.6): that of the reward, and
 * every call follows its thinking, every result is followed by thinking or the answer.
 */
import { stripEnd, stripStart } from '../text/characters.ts';
import { isWellFormed } from './format.ts';
import { hasTag } from './tags.ts';

/** Tool-Light's strict format (§4.6). Pass texts with untrusted results with their results emptied. */
export function isPreferenceFormat(text: string, tools: readonly string[]): boolean {
  return (
    isWellFormed(text, 'reward', tools) &&
    callsFollowThinking(text, tools) &&
    resultsGoOn(text) &&
    !hasTag(answerOf(text), ['think', ...tools])
  );
}

function callsFollowThinking(text: string, tools: readonly string[]): boolean {
  return tools.every((tool) =>
    text
      .split(`<${tool}>`)
      .slice(0, -1)
      .every((before) => stripEnd(before).endsWith('</think>')),
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
