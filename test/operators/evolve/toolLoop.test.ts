import { describe, expect, test } from '@jest/globals';
import { completePiece } from '../../../operators/evolve/models.ts';
import {
  readFaultyStep,
  readRedundancy,
  withThinkingTags,
} from '../../../operators/evolve/replies.ts';
import { toolLoop } from '../../../operators/evolve/toolLoop.ts';

function scripted(...pieces: readonly string[]) {
  let at = 0;
  return async () => pieces[at++] ?? '';
}
const quotas = { python: 1, search: 1 };

describe('toolLoop', () => {
  test('runs calls and ends with the answer', async () => {
    const { text, calls } = await toolLoop({
      piece: scripted('<search>a</search>', '<answer>1</answer>', 'never asked for'),
      run: async (tool, input) => `${tool}:${input}`,
      quotas,
    });
    expect(text).toBe('<search>a</search><result>search:a</result><answer>1</answer>');
    expect(calls).toEqual({ python: 0, search: 1 });
  });

  test('turns what a tool throws into a failed result', async () => {
    const { text } = await toolLoop({
      piece: scripted('<python>1/0</python>'),
      run: async () => {
        throw new Error('no room');
      },
      quotas,
    });
    expect(text).toContain('<result>Tool execute failed: no room</result>');
  });

  test('runs no call beyond its quota', async () => {
    let runs = 0;
    const run = async () => `${++runs}`;
    const search = '<search>a</search>';
    await toolLoop({ piece: scripted(search, search, search), run, quotas });
    expect(runs).toBe(1);
  });

  test('counts the finished calls of the trajectory that it goes on with', async () => {
    const start = '<search>a</search><result>b</result>';
    const { calls, text } = await toolLoop({
      piece: scripted('<search>c</search>'),
      run: async () => 'd',
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
      run: async () => null,
      quotas,
      piecesMax: 7,
    });
    expect(pieces).toBe(7);
  });
});

describe('completePiece', () => {
  const request = { role: 'policy', name: '', prompt: '', continuation: '' } as const;

  test('cuts behind the first closing tag and strips', async () => {
    const text = ' a</python> b</search>';
    expect(await completePiece(async () => text, request)).toBe('a</python>');
  });

  test('asks four times a model that gives up, then gives up too', async () => {
    let asked = 0;
    const complete = async () => {
      asked++;
      return null;
    };
    expect(await completePiece(complete, request)).toBe('');
    expect(asked).toBe(4);
  });
});

describe('replies', () => {
  test('a redundancy needs a number and a corrected step', () => {
    const reply = 'Step: 2\nAnalysis: twice\nCorrected Step: <think>once</think>';
    expect(readRedundancy(reply)).toEqual({ step: 2, corrected: '<think>once</think>' });
    expect(readRedundancy('Step: no')).toBeNull();
    expect(readRedundancy('Step: two\nAnalysis: a\nCorrected Step: b')).toBeNull();
  });

  test('a faulty step is a number before the analysis', () => {
    expect(readFaultyStep('step: 3 analysis: x')).toBe(3);
    expect(readFaultyStep('Analysis: x\nStep: 3')).toBeNull();
    expect(readFaultyStep('')).toBeNull();
  });

  test('a new step thinks before it calls', () => {
    expect(withThinkingTags('so <search>q</search>')).toBe('<think>so </think><search>q</search>');
    expect(withThinkingTags('<think>so</think> <answer>1</answer>')).toBe(
      '<think>so</think> <answer>1</answer>',
    );
  });
});
