import { describe, expect, test } from '@jest/globals';
import { fenceFor } from '../../../operators/dialect/fence.ts';
import { plainBlock } from '../../../operators/dialect/resultBlock.ts';
import { asPiece, withRetry } from '../../../operators/evolve/models.ts';
import {
  closedThinking,
  readFaultyStep,
  readRedundancy,
  reopenedWithHint,
  withThinkingTags,
} from '../../../operators/evolve/replies.ts';
import { outputOfCall } from '../../../operators/evolve/runTool.ts';
import { toolLoop } from '../../../operators/evolve/toolLoop.ts';
import { toolBroken, toolDown } from '../../../operators/tools/tool.ts';
import { paperTools } from '../../support/paperTools.ts';

function scripted(...pieces: readonly string[]) {
  let at = 0;
  return async () => pieces[at++] ?? '';
}
const quotas = { python: 1, search: 1 };

/** The result blocks of tools that are one function. */
function results(run: (tool: string, input: string) => Promise<string | null>) {
  return async (tool: string, piece: string) => plainBlock(await outputOfCall(run, tool, piece));
}

describe('toolLoop', () => {
  test('runs calls and ends with the answer', async () => {
    const { text, calls } = await toolLoop({
      piece: scripted('<search>a</search>', '<answer>1</answer>', 'never asked for'),
      result: results(async (tool, input) => `${tool}:${input}`),
      quotas,
    });
    expect(text).toBe('<search>a</search><result>search:a</result><answer>1</answer>');
    expect(calls).toEqual({ python: 0, search: 1 });
  });

  test('turns what a tool throws into a failed result', async () => {
    const { text } = await toolLoop({
      piece: scripted('<python>1/0</python>'),
      result: results(async () => {
        throw new Error('no room');
      }),
      quotas,
    });
    expect(text).toContain('<result>Tool execute failed: no room</result>');
  });

  test.each([toolDown, toolBroken])('does not take %p for an answer', async (unanswered) => {
    const result = results(() => Promise.reject(unanswered('search', 'nobody is there')));
    const loop = toolLoop({ piece: scripted('<search>a</search>'), result, quotas });
    await expect(loop).rejects.toThrow('nobody is there');
  });

  test('ends with a call beyond its quota, and does not run it', async () => {
    let runs = 0;
    const result = results(async () => `${++runs}`);
    const search = '<search>a</search>';
    const { logs } = await toolLoop({ piece: scripted(search, search, search), result, quotas });
    expect(logs).toEqual([search, '<result>1</result>', search]);
  });

  test('takes one more piece after such a call in reference mode, and ignores it', async () => {
    const search = '<search>a</search>';
    const { logs } = await toolLoop({
      piece: scripted(search, search, '<python>1</python>'),
      result: results(async () => ''),
      quotas,
      mode: 'reference',
    });
    expect(logs).toEqual([search, '<result></result>', search, '<python>1</python>', '']);
  });

  test('counts the finished calls of the trajectory that it goes on with', async () => {
    const start = '<search>a</search><result>b</result>';
    const { calls, text } = await toolLoop({
      piece: scripted('<search>c</search>'),
      result: results(async () => 'd'),
      quotas,
      start,
    });
    expect(calls.search).toBe(1);
    expect(text).toBe(`${start}<search>c</search>`);
  });

  test('ends a model that never answers', async () => {
    let pieces = 0;
    await toolLoop({
      piece: async () => `piece ${pieces++}`,
      result: results(async () => null),
      quotas,
      piecesMax: 7,
    });
    expect(pieces).toBe(7);
  });
});

describe('a reply', () => {
  test('is cut after the first closing tag and stripped', () => {
    const tags = ['</answer>', '</search>', '</python>'];
    expect(asPiece(' a</python> b</search>', tags)).toBe('a</python>');
    expect(asPiece(' a ', tags)).toBe('a');
  });

  test('is requested four times, each with its own number, if the model gives up', async () => {
    const asked: number[] = [];
    const gaveUp = await withRetry(async (attempt) => {
      asked.push(attempt);
      return null;
    });
    expect(gaveUp).toBeNull();
    expect(asked).toEqual([0, 1, 2, 3]);
  });
});

describe('parsing a reply', () => {
  test('finds a redundancy only with a number and a corrected step', () => {
    const reply = 'Step: 2\nAnalysis: twice\nCorrected Step: <think>once</think>';
    expect(readRedundancy(reply)).toEqual({ step: 2, corrected: '<think>once</think>' });
    expect(readRedundancy('Step: no')).toBeNull();
    expect(readRedundancy('Step: two\nAnalysis: a\nCorrected Step: b')).toBeNull();
  });

  test('finds a faulty step as a number before the analysis', () => {
    expect(readFaultyStep('step: 3 analysis: x')).toBe(3);
    expect(readFaultyStep('Analysis: x\nStep: 3')).toBeNull();
    expect(readFaultyStep('')).toBeNull();
  });

  test('gives a new step thinking before its call', () => {
    expect(withThinkingTags('so <search>q</search>', paperTools)).toBe(
      '<think>so </think><search>q</search>',
    );
    expect(withThinkingTags('<think>so</think> <answer>1</answer>', paperTools)).toBe(
      '<think>so</think> <answer>1</answer>',
    );
  });

  test('reopens a trajectory without its answer tags and without a call that was never run', () => {
    const tools = ['search'];
    const head = '<think>a</think><search>b</search><result>c</result>';
    const answered = `${head}<think>d</think><answer>e</answer>`;
    expect(reopenedWithHint(answered, ' Wait.', 'repaired', tools)).toBe(`${head}<think>de Wait.`);
    const called = `${head}<think>d</think><search>f</search>`;
    expect(reopenedWithHint(called, ' Wait.', 'repaired', tools)).toBe(`${head}<think>d Wait.`);
    expect(reopenedWithHint(called, ' Wait.', 'reference', tools)).toBe(' Wait.');
  });

  test('makes one block of rewritten thinking, whatever the model left out', () => {
    const fence = fenceFor({ tools: paperTools });
    expect(closedThinking('so', fence)).toBe('<think>so</think>');
    expect(closedThinking('<think>so</think> and more', fence)).toBe('<think>so</think>');
    expect(closedThinking(' </think>', fence)).toBe('');
    expect(closedThinking('so<answer>1</answer>', fence)).toBe(
      '<think>so< answer>1< /answer></think>',
    );
  });
});
