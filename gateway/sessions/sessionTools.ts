/**
 * The MCP tools of a session: calls go to their servers and are recorded.
 *
 * Guarantees:
 * - a result is committed to the topic `mcp-calls`, without secrets, before the agent gets it;
 * - what was committed before a crash, or before the point at which a fork leaves its session, is answered
 *   from the record and does not run again, as long as the agent makes the same calls with the same
 *   arguments; the first that is another is reported, and from there on all of them run.
 *
 * A call that a crash cut off runs again.
 */
import { type Clock, withoutSecrets } from '../../base/index.ts';
import { canonicalJson } from '../../base/text/index.ts';
import type { McpServer } from '../../operators/tools/mcp/index.ts';
import type { McpCallRecord } from '../../topics/index.ts';
import { firstDifference } from '../canonical.ts';
import type { McpTools, ToolOutcome } from '../conversation.ts';

/** What tools are called with. */
export interface ToolsOf {
  readonly servers: ReadonlyMap<string, McpServer>;
  /** Commits a call. */
  readonly commit: (record: McpCallRecord) => Promise<void>;
  /** Calls committed before, by this session or by the one it forked from. */
  readonly past: readonly McpCallRecord[];
  /** Reports that a session does not make the recorded calls. */
  readonly report: (line: string) => void;
}

/** Where a session is. */
export interface Standing {
  /** The number of the last model call that was answered; -1 = none. */
  readonly call: number;
  /** The last one that was answered from the record, by its number there. */
  readonly recorded: number;
  /** A model call was answered by the policy. */
  readonly live: boolean;
}

interface SessionToolsOptions extends ToolsOf {
  readonly id: string;
  readonly questionId: string;
  readonly clock: Clock;
  readonly standing: () => Standing;
  /** Aborted when the session ends. */
  readonly signal: AbortSignal;
}

/** See above. */
export class SessionTools implements McpTools {
  readonly #options: SessionToolsOptions;
  readonly #past: readonly McpCallRecord[];
  readonly #given = new Set<McpCallRecord>();
  readonly #running = new Set<Promise<unknown>>();
  /** A call was made that is not recorded. */
  #differs = false;
  #number: number;

  constructor(options: SessionToolsOptions) {
    this.#options = options;
    this.#past = options.past.toSorted((a, b) => a.number - b.number);
    const own = options.past.filter(({ sessionId }) => sessionId === options.id);
    this.#number = Math.max(-1, ...own.map(({ number }) => number)) + 1;
  }

  get servers(): readonly string[] {
    return [...this.#options.servers.keys()];
  }

  list(server: string): ReturnType<McpServer['tools']> {
    return this.#options.servers.get(server)!.tools();
  }

  async call(
    server: string,
    tool: string,
    given: Readonly<Record<string, unknown>>,
  ): Promise<ToolOutcome> {
    this.#options.signal.throwIfAborted();
    const made = this.#made(server, tool, given);
    this.#running.add(made);
    try {
      return await made;
    } finally {
      this.#running.delete(made);
    }
  }

  /** Resolves when no call is under way. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  async #made(
    server: string,
    tool: string,
    given: Readonly<Record<string, unknown>>,
  ): Promise<ToolOutcome> {
    const { id: sessionId, questionId, servers, clock, signal, standing } = this.#options;
    const asked = { server, tool, input: canonicalJson(given) };
    const past = this.#recorded(asked);
    if (past?.sessionId === sessionId) return JSON.parse(past.output) as ToolOutcome;
    const of = { sessionId, questionId, number: this.#number++, after: standing().call, ...asked };
    if (past !== null) {
      await this.#options.commit({ ...past, ...of });
      return JSON.parse(past.output) as ToolOutcome;
    }
    const startedMs = clock.now();
    const outcome = await outcomeOf(servers.get(server)!.call(tool, given, signal));
    const output = JSON.stringify(outcome, (_, part: unknown) =>
      typeof part === 'string' ? withoutSecrets(part) : part,
    );
    const times = { startedMs, endedMs: clock.now() };
    await this.#options.commit({ ...of, ...times, ranFor: sessionId, output });
    // As recorded: a repeat of the call returns the same.
    return JSON.parse(output) as ToolOutcome;
  }

  /** The recorded call that matches this one; null = it has to run. */
  #recorded(asked: Asked): McpCallRecord | null {
    if (this.#differs) return null;
    const open = this.#past.filter((one) => this.#isDue(one));
    const found = open.find((one) => isSame(one, asked));
    if (found !== undefined) {
      this.#given.add(found);
      return found;
    }
    const [due] = open;
    const { id, report, standing } = this.#options;
    const goesOn = this.#past.some((one) => !this.#given.has(one));
    if (due !== undefined || (goesOn && !standing().live)) {
      this.#differs = true;
      report(`session ${id}: ${difference(due, asked)}; this call and all later ones run`);
    }
    return null;
  }

  /** Whether the session has reached the point where this call was made. */
  #isDue(one: McpCallRecord): boolean {
    if (this.#given.has(one)) return false;
    const { call, recorded, live } = this.#options.standing();
    if (one.sessionId === this.#options.id) return one.after <= call;
    return !live && one.after <= recorded;
  }
}

type Asked = Pick<McpCallRecord, 'server' | 'tool' | 'input'>;

function isSame(one: McpCallRecord, { server, tool, input }: Asked): boolean {
  return one.server === server && one.tool === tool && one.input === input;
}

function difference(due: McpCallRecord | undefined, asked: Asked): string {
  const name = `${asked.server}.${asked.tool}`;
  if (due === undefined) return `the call of ${name} is not recorded`;
  const was = `${due.server}.${due.tool}`;
  if (was !== name)
    return `the agent called ${name}, and the record has ${was} (call ${due.number})`;
  const said = (text: string) => ({
    ...({ role: 'assistant', content: '', reasoning: null } as const),
    calls: [{ id: '', name, arguments: text }],
  });
  const where = firstDifference(said(due.input), said(asked.input))?.replace('calls[0].', '');
  return `the call of ${name} differs from the record (call ${due.number}): ${where}`;
}

/** An error that the server reports is an answer too; an unreachable server is not. */
async function outcomeOf(asked: ReturnType<McpServer['call']>): Promise<ToolOutcome> {
  try {
    return { result: await asked };
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
    if (typeof code !== 'number') throw error;
    return { error: { code, message: String(message) } };
  }
}
