import { execFileSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { shellWord } from '../../../base/text/index.ts';

test.each(['train-7/explore-1/0', 'a b', "it's", '$(id) `id` "x" \\ !', ''])(
  '%j is one word to a shell',
  (text) => {
    const said = execFileSync('sh', ['-c', `printf '%s|' ${shellWord(text)} end`], {
      encoding: 'utf8',
    });
    expect(said).toBe(`${text}|end|`);
  },
);
