/**
 * Reads the replies of the flywheel's critic and analyst, and makes the cuts that follow from them (ET-Agent
 * §4.6, §4.7). Pure: text in, text out.
 */

import { firstCall } from '../dialect/calls.ts';
import type { Fence } from '../dialect/fence.ts';
import { afterLastResult } from '../dialect/steps.ts';
import { strip, stripEnd } from '../text/characters.ts';

/** A step that has redundant parts, and its shorter form. Steps count from 1. */
export interface Redundancy {
  readonly step: number;
  readonly corrected: string;
}

/** Reads `Step: 2 / Analysis: … / Corrected Step: …`; null for `Step: no` and for anything unreadable. */
export function readRedundancy(reply: string): Redundancy | null {
  const lower = reply.toLowerCase();
  const corrected = lower.indexOf('corrected step:');
  if (lower.includes('step: no') || corrected < 0) return null;
  const step = stepNumber(reply.slice(lower.indexOf('step:'), lower.indexOf('analysis:')));
  const text = strip(reply.slice(corrected + 'corrected step:'.length));
  return step === null || text === '' ? null : { step, corrected: text };
}

/** Reads the number of the first faulty step from `Step: 2 / Analysis: …`; null when it names none. */
export function readFaultyStep(reply: string): number | null {
  const lower = `${reply.toLowerCase()}analysis:`;
  const start = lower.indexOf('step:');
  return start < 0 ? null : stepNumber(lower.slice(start, lower.indexOf('analysis:')));
}

function stepNumber(text: string): number | null {
  const match = /step:\s*(\d+)/i.exec(text);
  return match === null ? null : Number(match[1]);
}

/**
 * A new step in the form that a trajectory requires: it opens with thinking, which closes before a call or
 * the answer.
 */
export function withThinkingTags(reply: string, tools: readonly string[]): string {
  const step = strip(reply);
  const opened = step.startsWith('<think>') ? step : `<think>${step}`;
  const call = firstCall(opened, [...tools, 'answer']);
  if (call < 0 || stripEnd(opened.slice(0, call)).endsWith('</think>')) return opened;
  return `${opened.slice(0, call)}</think>${opened.slice(call)}`;
}

/**
 * A trajectory opened again so that thinking can go on with a hint: the answer's tags go, and the thinking
 * after the last result stays open. A call without a result goes too. (The published code keeps such a call,
 * and drops all of a trajectory without an answer.)
 */
export function reopenedWithHint(
  trajectory: string,
  hint: string,
  mode: 'repaired' | 'reference',
  tools: readonly string[],
): string {
  const finished = stripEnd(trajectory).endsWith('</answer>');
  if (!finished && mode === 'reference') return hint;
  const text = trajectory.replaceAll('<answer>', '').replaceAll('</answer>', '');
  const tail = afterLastResult(text);
  const head = text.slice(0, text.length - tail.length);
  const open = openThinking(mode === 'reference' ? tail : beforeCall(tail, tools), head !== '');
  return head + open + hint;
}

function beforeCall(text: string, tools: readonly string[]): string {
  const call = firstCall(text, tools);
  return call < 0 ? text : text.slice(0, call);
}

function openThinking(tail: string, followsResult: boolean): string {
  const open = tail.indexOf('<think>');
  if (open < 0) return followsResult ? `<think>${tail}` : tail;
  const close = tail.indexOf('</think>', open);
  return close < 0 ? tail : tail.slice(0, close) + tail.slice(close + '</think>'.length);
}

/** Whether a judge's reply says that a prediction is correct. */
export function saysCorrectPlainly(reply: string): boolean {
  const lower = reply.toLowerCase();
  return lower.includes('correct') && !lower.includes('incorrect');
}

/** Thinking up to and including its first closing tag; all of it if it never closes. */
export function upToThinkEnd(text: string): string {
  const close = text.indexOf('</think>');
  return close < 0 ? text : text.slice(0, close + '</think>'.length);
}

/**
 * A reply as one block of thinking, opened and closed once, with no tag in it and nothing after it; '' if
 * there is no thought in it.
 */
export function closedThinking(reply: string, fence: Fence): string {
  const thought = strip(
    upToThinkEnd(strip(reply))
      .replace(/^<think>/, '')
      .replace(/<\/think>$/, ''),
  );
  return thought === '' ? '' : `<think>${fence(thought)}</think>`;
}
