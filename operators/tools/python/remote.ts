/**
 * Programs on a server with SandboxFusion's interface (`POST /run_code`): the interpreter, the packages and
 * the isolation are the server's. A program is sent inside a frame of Python that shows its last value and
 * reports its error as the sandbox does.
 *
 * Guarantees: a missing or undocumented reply is not taken for a result of the program; each request ends in
 * time; a program can forge no result but its own; however much it prints, little comes back.
 */
import { z } from 'zod';
import { Exchange, type HttpReply, isRedirect, NoReply, saidIn } from '../../../base/http/index.ts';
import { outsideText, type SleepClock, withoutSecrets } from '../../../base/index.ts';
import { jsonIn } from '../../../base/text/index.ts';
import { toolDown } from '../tool.ts';
import { programPython } from './programPython.ts';
import { MARGIN, type ProgramLimits, type ProgramResult } from './programResult.ts';

/** A server that runs programs, and how to ask it. */
export interface PythonServer {
  /** Without `/run_code`. */
  readonly url: string;
  /** '' = none. */
  readonly key: string;
  readonly clock: SleepClock;
  /** Attempts per program, if the server does not answer or says that it could not run it. */
  readonly triesMax: number;
  /** Wait between them. */
  readonly retryDelayMs: number;
}

export interface RemoteInterpreter {
  /** Rejects with the signal's reason, and with code `TOOL_DOWN`. */
  run(program: string, signal: AbortSignal): Promise<ProgramResult>;
  close(): void;
}

/** How long a program may wait for others at the server. */
const QUEUE_MAX_MS = 60_000;
const REPLY_BYTES_MAX = 8 * 2 ** 20;
/** What an exchange says about a longer one. */
const TOO_LONG = /over limit/;
/** Precedes the error that the frame reports, on the error stream. */
const MARK = '\0error\0';

const commandResult = z.object({
  status: z.enum(['Finished', 'Error', 'TimeLimitExceeded']),
  return_code: z.number().int().nullish(),
  stdout: z.string().nullish(),
  stderr: z.string().nullish(),
});
const runCodeReply = z.discriminatedUnion('status', [
  z.object({ status: z.enum(['Success', 'Failed']), run_result: commandResult }),
  z.object({ status: z.literal('SandboxError'), message: z.string().nullish() }),
]);

type CommandResult = z.infer<typeof commandResult>;
/** Whether another attempt may help. */
type NotRun = { readonly kind: 'again' | 'never'; readonly reason: string };

export function remoteInterpreter(
  server: PythonServer,
  limits: ProgramLimits,
  printNone: boolean,
): RemoteInterpreter {
  const { url, key, clock, triesMax, retryDelayMs } = server;
  const timeoutMs = limits.timeoutMs + QUEUE_MAX_MS;
  const exchange = new Exchange({ clock, timeoutMs, replyBytesMax: REPLY_BYTES_MAX });
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
  };

  async function tried(body: string, signal: AbortSignal): Promise<ProgramResult | NotRun> {
    try {
      return read(await exchange.ask({ url: `${url}/run_code`, headers, body }, signal));
    } catch (error) {
      if (!(error instanceof NoReply)) throw error;
      if (TOO_LONG.test(error.message)) return { kind: 'stopped', text: 'its output is too long' };
      return { kind: 'again', reason: `does not answer: ${error.message}` };
    }
  }

  return {
    async run(program, signal) {
      const seconds = limits.timeoutMs / 1000;
      const body = JSON.stringify({
        code: framed(program, { printNone, textMax: limits.outputMax + MARGIN }),
        language: 'python',
        compile_timeout: seconds,
        run_timeout: seconds,
        ...(limits.memoryMaxMiB === 0 ? {} : { memory_limit_MB: limits.memoryMaxMiB }),
      });
      for (let tries = 1; ; tries++) {
        const made = await tried(body, signal);
        if (!('reason' in made)) return made;
        if (made.kind === 'never' || tries >= triesMax) {
          throw toolDown('python', `the server ${url} ${made.reason}`);
        }
        await clock.sleep(retryDelayMs, signal);
      }
    },
    close: () => exchange.close(),
  };
}

function read(reply: HttpReply): ProgramResult | NotRun {
  const { status } = reply;
  if (isRedirect(reply))
    return { kind: 'never', reason: `answers HTTP ${status}: give the address it redirects to` };
  if (!reply.ok) {
    const passes = status === 408 || status === 429 || status >= 500;
    const reason = `answers HTTP ${status}: ${saidIn(reply.text())}`;
    return { kind: passes ? 'again' : 'never', reason };
  }
  const text = withoutSecrets(reply.text());
  const parsed = runCodeReply.safeParse(jsonIn(text));
  if (!parsed.success)
    return { kind: 'again', reason: `does not answer as SandboxFusion does: ${saidIn(text)}` };
  const said = parsed.data;
  if (said.status === 'SandboxError')
    return { kind: 'again', reason: `could not run it: ${outsideText(said.message ?? '')}` };
  if (said.run_result.status === 'Error') {
    const reason = `could not run it: ${outsideText(said.run_result.stderr ?? '')}`;
    return { kind: 'again', reason };
  }
  return ended(said.run_result);
}

function ended({ status, return_code: code, stdout, stderr }: CommandResult): ProgramResult {
  if (status === 'TimeLimitExceeded') return { kind: 'expired', text: '' };
  const complaints = stderr ?? '';
  const mark = complaints.lastIndexOf(MARK);
  if (mark >= 0) return { kind: 'raised', text: complaints.slice(mark + MARK.length) };
  if (code === 0) return { kind: 'done', text: stdout ?? '' };
  const last = outsideText(complaints.trim().split('\n').at(-1) ?? '');
  return { kind: 'stopped', text: last === '' ? `exit status ${code ?? 'unknown'}` : last };
}

/** The program with what runs it, in ASCII alone: no name of the frame is among the program's own. */
function framed(
  program: string,
  { printNone, textMax }: { readonly printNone: boolean; readonly textMax: number },
): string {
  const given = `{'__name__': 'millrace', 'SOURCE': ${ascii(program)}, 'NONE': ${printNone ? 'True' : 'False'}, 'MAX': ${textMax}}`;
  return `exec(compile(${ascii(FRAME)}, '<frame>', 'exec'), ${given})\n`;
}

/** A text of JSON is one of Python too, once it has pairs of surrogates in one. */
function ascii(text: string): string {
  return JSON.stringify(text).replace(/[^\x20-\x7e]/gu, (character) => {
    const point = character.codePointAt(0)!.toString(16);
    return point.length > 4 ? `\\U${point.padStart(8, '0')}` : `\\u${point.padStart(4, '0')}`;
  });
}

const FRAME = `${programPython}
import io, os, random, sys


class Cut(io.RawIOBase):
    """Standard output, of which only the beginning is sent."""

    room = MAX * 4

    def writable(self):
        return True

    def fileno(self):
        return 1

    def write(self, data):
        size = len(data)
        kept = bytes(data[:self.room])
        self.room -= len(kept)
        while kept:
            kept = kept[os.write(1, kept):]
        return size


out = io.TextIOWrapper(io.BufferedWriter(Cut()), encoding='utf-8')
sys.stdout = sys.__stdout__ = out
complaints = os.dup(2)
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
random.seed(0)
failure = run_program(SOURCE, vars(sys.modules['__main__']), NONE, MAX)
try:
    if not out.closed:
        out.flush()
except BaseException as error:
    failure = failure or message(error, MAX)
if failure is not None:
    report = ${JSON.stringify(MARK).replaceAll('\\u0000', '\\x00')}.encode() + failure
    while report:
        report = report[os.write(complaints, report):]
    sys.exit(1)
`;
