/**
 * A verifier behind HTTP: it rewards a session after it has ended, and may be told before it starts. Every
 * request has bounds and is retried while the verifier is unavailable. If it never answers, or answers
 * without a reward, the rollout fails and records why.
 *
 * Its answer is stored in the rollout, so a replay asks no verifier.
 */
import { z } from 'zod';
import { Exchange, type HttpReply, NoReply } from '../../base/http/index.ts';
import { messageOf, outsideText, type SleepClock } from '../../base/index.ts';
import { nemoGymForm } from './nemoGym.ts';
import { plainForm } from './plainForm.ts';
import type { JudgedSession, VerifierForm } from './session.ts';

/** The forms in which verifiers are asked. */
export const verifierForms = ['plain', 'nemo-gym'] as const;

export interface VerifierOptions {
  readonly url: string;
  readonly form: (typeof verifierForms)[number];
  /** For one request. */
  readonly timeoutMs: number;
  readonly clock: SleepClock;
  /** Attempts per request, if a verifier does not answer. */
  readonly attempts?: number;
}

/** The reward of a session. */
export interface Verdict {
  readonly reward: number;
  readonly reason: string;
  readonly parts: Readonly<Record<string, number>>;
}

/** A session to be judged; its cookies hold what the verifier remembers about it. */
export interface Case {
  /** Rejects with a `VerifierFault`, or with the signal's reason. */
  judge(session: JudgedSession, signal: AbortSignal): Promise<Verdict>;
}

export interface Verifier {
  /** Before the agent works. Rejects as `judge` does. */
  begin(question: JudgedSession['question'], signal: AbortSignal): Promise<Case>;
  close(): Promise<void>;
}

/** Why there is no verdict. */
export class VerifierFault extends Error {}

const BYTES_MAX = 1024 * 1024;
const ATTEMPTS = 4;
const PAUSE_MS = 1_000;
const PARTS_MAX = 32;
const REASON_MAX = 2_000;

const FORMS: Readonly<Record<VerifierOptions['form'], VerifierForm>> = {
  plain: plainForm,
  'nemo-gym': nemoGymForm,
};

const answer = z.looseObject({ reward: z.number(), reason: z.string().optional() });

export function httpVerifier({
  url,
  form: named,
  timeoutMs,
  clock,
  attempts = ATTEMPTS,
}: VerifierOptions): Verifier {
  const exchange = new Exchange({ clock, timeoutMs, replyBytesMax: BYTES_MAX });
  const form = FORMS[named];
  const place = `the verifier at ${new URL(url).origin}`;
  const fault = (what: string): VerifierFault => new VerifierFault(`${place} ${what}`);

  /** Once the verifier is there. */
  async function asked(
    path: string,
    body: unknown,
    cookies: Cookies,
    signal: AbortSignal,
  ): Promise<HttpReply> {
    const text = JSON.stringify(body);
    for (let attempt = 1; ; attempt++) {
      const headers = { 'content-type': 'application/json', ...cookies.header() };
      const said = await exchange
        .ask({ url: below(url, path), headers, body: text }, signal)
        .catch((error: unknown) => {
          if (error instanceof NoReply) return error;
          throw error;
        });
      if (!(said instanceof NoReply) && said.ok) {
        cookies.take(said.header('set-cookie'));
        return said;
      }
      const why =
        said instanceof NoReply
          ? `did not answer: ${said.message}`
          : `answered ${said.status}: ${outsideText(said.text().slice(0, 400))}`;
      const isAway = said instanceof NoReply || said.status === 429 || said.status >= 500;
      if (!isAway || attempt >= attempts) throw fault(why);
      await clock.sleep(PAUSE_MS * attempt, signal);
    }
  }

  return {
    async begin(question, signal) {
      const cookies = new Cookies();
      const seed = form.seed(question);
      if (seed !== null) await asked(form.seedPath, seed, cookies, signal);
      return {
        async judge(session, until) {
          const reply = await asked(form.path, form.request(session), cookies, until);
          return verdictOf(reply.text(), form, fault);
        },
      };
    },
    close: async () => exchange.close(),
  };
}

function verdictOf(
  text: string,
  { partsIn }: VerifierForm,
  fault: (what: string) => VerifierFault,
): Verdict {
  const read = answer.safeParse(jsonIn(text));
  if (!read.success) throw fault(`gave no finite reward: ${outsideText(text.slice(0, 200))}`);
  const { reward, reason = '' } = read.data;
  const parts = Object.entries(partsIn(read.data))
    .filter((part): part is [string, number] => Number.isFinite(part[1]))
    .slice(0, PARTS_MAX)
    .map(([name, value]) => [outsideText(name).slice(0, 64), value] as const);
  const said = outsideText(reason).slice(0, REASON_MAX);
  return { reward, reason: said, parts: Object.fromEntries(parts) };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return messageOf(error);
  }
}

/** An address below the verifier's. */
function below(url: string, path: string): string {
  return path === '' ? url : `${url.replace(/\/+$/, '')}${path}`;
}

/** A session's cookies, so that the verifier gets its own back. */
class Cookies {
  readonly #values = new Map<string, string>();

  /** Header fields are joined by commas, but a cookie's date contains one as well. */
  take(header: string | null): void {
    for (const one of header?.split(/,(?=\s*[^;,\s]+=)/) ?? []) {
      const [, name, value] = /^\s*([^=;\s]+)=([^;]*)/.exec(one) ?? [];
      if (name !== undefined) this.#values.set(name, value!);
    }
  }

  header(): Readonly<Record<string, string>> {
    if (this.#values.size === 0) return {};
    return { cookie: [...this.#values].map(([name, value]) => `${name}=${value}`).join('; ') };
  }
}
