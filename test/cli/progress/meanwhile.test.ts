import { expect, it, jest } from '@jest/globals';
import { meanwhile } from '../../../cli/progress/meanwhile.ts';
import { fakeIo } from '../support/fakeIo.ts';

it('a terminal that only takes lines hears every five seconds how far the work is', () => {
  jest.useFakeTimers();
  try {
    const io = { ...fakeIo('/'), terminal: true, dumb: true };
    let done = 0;
    const end = meanwhile(io, () => `compared ${done}`);
    for (done = 1; done <= 11; done++) jest.advanceTimersByTime(1000);
    end();
    jest.advanceTimersByTime(9000);
    expect(io.stderr()).toEqual(['compared 5', 'compared 10']);
  } finally {
    jest.useRealTimers();
  }
});
