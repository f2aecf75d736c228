/**
 * What a protocol is to the gateway: how its bodies are read, and how an answer or a refusal is said in it.
 *
 * An answer is whole before it is said; a stream of it is all its events at once, after keep-alives. Said
 * twice, an answer has the same text, ids included.
 */
import type {
  GatewayRefusal,
  ModelCall,
  ModelReply,
  ModelSession,
  ProtocolName,
} from '../conversation.ts';

export interface Protocol {
  readonly name: ProtocolName;
  /** Its path below `/v1/`. */
  readonly path: string;
  /** Reads the body of a request. Throws a `GatewayRefusal` that names what is wrong. */
  read(body: unknown, memory: ModelSession['memory']): Asked;
  failed(refusal: GatewayRefusal): Failed;
  /** The same where a stream has begun: the rest of it. */
  failedEvents(refusal: GatewayRefusal): string;
  /** What a stream says while there is no answer yet. */
  readonly keepAlive: string;
}

/** A call, and how its answer is said. */
export interface Asked {
  readonly call: ModelCall;
  readonly stream: boolean;
  /** As one JSON value. */
  answer(reply: ModelReply): unknown;
  /** As a stream. */
  events(reply: ModelReply): string;
}

/** A refusal as an HTTP answer. */
export interface Failed {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** A server-sent event; a name where the protocol has them. */
export function event(data: unknown, name = ''): string {
  return `${name === '' ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** A line that readers of a stream ignore. */
export const SILENT_LINE = ': keep-alive\n\n';
