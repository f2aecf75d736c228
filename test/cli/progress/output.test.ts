import { describe, expect, it, jest, test } from '@jest/globals';
import { folded } from '../../../base/terminal/wrapped.ts';
import { statusText } from '../../../cli/progress/liveScreen.ts';
import { runOutput } from '../../../cli/progress/runOutput.ts';
import type { ProgressEvent, ProgressStatus } from '../../../sinks/progress/events.ts';
import { fakeIo } from '../support/fakeIo.ts';

const status: ProgressStatus = {
  round: 2,
  roundName: 'round 1',
  rounds: 4,
  step: 38,
  steps: null,
  share: 0.5,
  leftMs: 90_000,
  generatedPerSecond: 12_345,
  trainedPerSecond: 9290,
  reward: 0.918,
  measuring: null,
  pulse: { inflight: 24, generatedTokens: 1, version: 3 },
};
const event: ProgressEvent = {
  kind: 'evaluation',
  round: 1,
  roundName: 'round 1',
  step: 3,
  steps: null,
  sampling: 'greedy',
  numbers: { 'eval/accuracy': 0.5, 'eval/questions': 8 },
  atMs: 5,
};

describe('the status line of a terminal', () => {
  const plain = (columns: number) => statusText(status, { columns, colour: false });

  it('shows a bar, the share, and the details that fit', () => {
    expect(plain(120)).toBe(
      '━━━━━━━━━━──────────  50 %  round 1 · step 38 · about 2 min left · 12.3k tok/s out · reward 0.92',
    );
    expect(plain(80)).toBe('━━━━━━━━━━──────────  50 %  round 1 · step 38 · about 2 min left');
  });

  it('says what is measured, and no share while there is none to speak of', () => {
    const begun = { ...status, share: 0.004, step: null, leftMs: null, reward: null };
    const measuring = { name: 'the base policy', done: 48, of: 150 };
    const text = (given: Partial<ProgressStatus>) =>
      statusText({ ...begun, ...given }, { columns: 80, colour: false });
    expect(text({ measuring })).toBe(
      'measuring the base policy, 48 of 150 · 12.3k tok/s out · 9290 tok/s trained',
    );
    expect(text({})).toBe('round 1 · 12.3k tok/s out · 9290 tok/s trained · 24 groups in flight');
    expect(text({ measuring, share: 0.1 })).toBe(
      '━━──────────────────  10 %  measuring the base policy, 48 of 150',
    );
  });

  it.each([40, 60, 80, 100, 120, 200])('fits %i columns next to the spinner', (columns) => {
    expect(plain(columns).length).toBeLessThanOrEqual(columns - 3);
  });

  it('has colour only if the terminal has it', () => {
    expect(plain(80)).not.toContain('\u001b');
    expect(statusText(status, { columns: 80, colour: true })).toContain('\u001b[36m━');
  });
});

it('a progress line that is too long is broken between its parts', () => {
  const line = 'after round 1 · 20 held-out questions · accuracy 53 % · efficiency 29 %';
  expect(folded(line, 200)).toBe(line);
  expect(folded(line, 50)).toBe(
    'after round 1 · 20 held-out questions\n  accuracy 53 % · efficiency 29 %',
  );
});

describe('the output of a run', () => {
  const said = (flags: { quiet?: boolean; json?: boolean; warned?: boolean }) => {
    const io = fakeIo('/', 7);
    const output = runOutput(flags, io);
    output.say('starting');
    output.tell('start', { run: 'r' });
    output.screen.event(event);
    for (let i = 0; i < 16; i++) output.screen.status(status);
    if (flags.warned) {
      output.screen.warning({ text: 'nothing is learnt', round: 1, step: 3, atMs: 5 });
    }
    output.tell('end', { run: 'r', end: 'done' });
    output.screen.close();
    return { out: io.stdout(), err: io.stderr() };
  };

  test('is lines on stderr if that is not a terminal', () => {
    const { out, err } = said({});
    expect(out).toBe('');
    expect(err).toEqual([
      'starting',
      'after round 1 · 8 held-out questions · greedy · accuracy 50 %',
    ]);
  });

  test('is a line every five seconds on a terminal that only takes lines', () => {
    for (const dumb of [true, false]) {
      const io = { ...fakeIo('/', 7), terminal: true, dumb };
      const output = runOutput({}, io);
      const measuring = { name: 'the base policy', done: 48, of: 150 };
      for (let i = 0; i < 11; i++)
        output.screen.status({ ...status, share: 0, leftMs: null, measuring });
      output.screen.close();
      const line =
        'measuring the base policy, 48 of 150 · policy 3 · 24 groups in flight · 1 token generated';
      expect(io.stderr()).toEqual([line, line]);
    }
  });

  test('is not silent on such a terminal while the job is prepared', () => {
    jest.useFakeTimers();
    try {
      for (const [terminal, lines] of [
        [true, 2],
        [false, 0],
      ] as const) {
        const io = { ...fakeIo('/', 7), terminal, dumb: true };
        const ready = runOutput({}, io).preparing();
        jest.advanceTimersByTime(11_000);
        ready();
        jest.advanceTimersByTime(11_000);
        expect(io.stderr()).toEqual(Array(lines).fill('preparing policy, tools and questions'));
      }
    } finally {
      jest.useRealTimers();
    }
  });

  test('includes warnings on stderr in every case, and as data with --json', () => {
    for (const flags of [{}, { quiet: true }, { json: true }]) {
      const { out, err } = said({ ...flags, warned: true });
      expect(err).toContain('warning: nothing is learnt');
      const types = out.split('\n').filter((line) => line.includes('"type":"warning"'));
      expect(types.map((line) => JSON.parse(line))).toEqual(
        'json' in flags ? [expect.objectContaining({ text: 'nothing is learnt', step: 3 })] : [],
      );
    }
  });

  test('includes servers that do not answer in every case, and as data with --json', () => {
    const server = 'http://gpu:8000';
    for (const flags of [{}, { quiet: true }, { json: true }]) {
      const io = fakeIo('/', 7);
      const { say } = runOutput(flags, io);
      say('no server', { state: 'away', server, reason: 'refused', forMs: 9 });
      say('a server', { state: 'back', server, reason: '', forMs: 20 });
      say('warning: look');
      expect(io.stderr()).toEqual(['no server', 'a server', 'warning: look']);
      const lines = io.stdout().split('\n').filter(Boolean);
      const away = { type: 'away', at: 7, server, reason: 'refused', forMs: 9, text: 'no server' };
      const back = { type: 'back', at: 7, server, reason: '', forMs: 20, text: 'a server' };
      expect(lines.map((line) => JSON.parse(line))).toEqual(
        'json' in flags ? [away, back, { type: 'warning', at: 7, text: 'look' }] : [],
      );
    }
  });

  test('is empty with --quiet', () => {
    expect(said({ quiet: true })).toEqual({ out: '', err: [] });
  });

  test('is one JSON object a line on stdout with --json, and nothing else', () => {
    const { out, err } = said({ json: true });
    expect(err).toEqual([]);
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ type }) => type)).toEqual(['start', 'evaluation', 'status', 'end']);
    expect(lines[1]).toMatchObject({ at: 7, round: 1, sampling: 'greedy', numbers: event.numbers });
    expect(lines[2]).toMatchObject({ share: 0.5, leftMs: 90_000, pulse: { inflight: 24 } });
  });
});
