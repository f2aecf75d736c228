/** What is shown of the warnings of libraries. */
import { EventEmitter } from 'node:events';
import { describe, expect, it, jest } from '@jest/globals';
import { quietWarnings } from '../../cli/quietWarnings.ts';

describe('warnings of libraries', () => {
  it('are shown as before, except for one that no user can act on', () => {
    const process = new EventEmitter();
    const show = jest.fn();
    process.on('warning', show);
    quietWarnings(process);
    const deprecated = Object.assign(new Error('old'), { name: 'DeprecationWarning' });
    process.emit('warning', deprecated);
    process.emit('warning', Object.assign(new Error('-1'), { name: 'TimeoutNegativeWarning' }));
    expect(show.mock.calls).toEqual([[deprecated]]);
  });
});
