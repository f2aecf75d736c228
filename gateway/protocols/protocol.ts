/**
 * A protocol, to the gateway: how its requests are read, and how answers and refusals are written in it.
 *
 * An answer is complete before it is written; streamed, it is all its events at once, after keep-alives.
 * Written twice, an answer has the same text, ids included.
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
  /** The same once a stream has begun: the rest of the stream. */
  failedEvents(refusal: GatewayRefusal): string;
  /** What a stream sends while there is no answer yet. */
  readonly keepAlive: string;
}

/** A call, and how its answer is written. */
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

/** A server-sent event, with a name if the protocol uses them. */
export function event(data: unknown, name = ''): string {
  return `${name === '' ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** A line that readers of a stream ignore. */
export const SILENT_LINE = ': keep-alive\n\n';
