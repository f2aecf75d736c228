/** What the broker's answer, or its silence, means for the request: try again, and how, or give up. */
import { outsideText } from '../../base/index.ts';

/** How to try again: from new connections, with new metadata, at another coordinator, or just later. */
export type Remedy = 'reconnect' | 'metadata' | 'coordinator' | 'later';

/** What we read from an error of the client library or of Node, and from the errors inside it. */
interface Raised {
  /** The name that the protocol gives it. */
  readonly apiId?: string;
  readonly code?: unknown;
  readonly message?: string;
  readonly serverErrorMessage?: string | null;
  readonly cause?: unknown;
  readonly errors?: readonly unknown[];
}

/** The error and everything inside it, from the outermost to the cause. */
function* within(error: unknown): Generator<Raised> {
  if (typeof error !== 'object' || error === null) return;
  const raised = error as Raised;
  yield raised;
  for (const each of raised.errors ?? []) yield* within(each);
  yield* within(raised.cause);
}

/** The error of the other partitions of a request when one of them is refused. */
const NOT_TRIED = 'OPERATION_NOT_ATTEMPTED';

/** The protocol's name of the error, or ''. */
export function kindOf(error: unknown): string {
  const kinds = [...within(error)].flatMap(({ apiId }) => apiId ?? []);
  return kinds.find((kind) => kind !== NOT_TRIED) ?? kinds[0] ?? '';
}

/** The most specific reason available. */
export function reasonOf(error: unknown): string {
  const reasons = [...within(error)].map((each) => each.serverErrorMessage || each.message || '');
  return outsideText(reasons.findLast((reason) => reason !== '') ?? String(error));
}

const REMEDIES: Readonly<Record<string, Remedy>> = {
  UNKNOWN_TOPIC_OR_PARTITION: 'metadata',
  LEADER_NOT_AVAILABLE: 'metadata',
  NOT_LEADER_OR_FOLLOWER: 'metadata',
  REPLICA_NOT_AVAILABLE: 'metadata',
  FENCED_LEADER_EPOCH: 'metadata',
  UNKNOWN_LEADER_EPOCH: 'metadata',
  KAFKA_STORAGE_ERROR: 'metadata',
  NOT_CONTROLLER: 'metadata',
  [NOT_TRIED]: 'metadata',
  BROKER_NOT_AVAILABLE: 'reconnect',
  NETWORK_EXCEPTION: 'reconnect',
  REQUEST_TIMED_OUT: 'later',
  NOT_ENOUGH_REPLICAS: 'later',
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'later',
  CONCURRENT_TRANSACTIONS: 'later',
  UNSTABLE_OFFSET_COMMIT: 'later',
  OFFSET_NOT_AVAILABLE: 'later',
  COORDINATOR_LOAD_IN_PROGRESS: 'later',
  COORDINATOR_NOT_AVAILABLE: 'coordinator',
  NOT_COORDINATOR: 'coordinator',
};

/** Errors of the library and of Node: no answer, or one that cannot belong to this request. */
const CONNECTION =
  /^(PLT_KFK_(NETWORK|TIMEOUT|UNEXPECTED_CORRELATION_ID)|ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)/;
/** A leader that has moved says where to in fields that version 1 of the library does not know. */
const UNREADABLE = /OUT_OF_BOUNDS|ERR_OUT_OF_RANGE/;

/** Null: another attempt would not help. */
export function remedyFor(error: unknown): Remedy | null {
  const kind = kindOf(error);
  if (kind !== '') return REMEDIES[kind] ?? null;
  if (isRefused(error)) return null;
  const codes = [...within(error)].map(({ code }) => String(code));
  if (codes.some((code) => CONNECTION.test(code))) return 'reconnect';
  return codes.some((code) => UNREADABLE.test(code)) ? 'metadata' : null;
}

/**
 * The group continues without this member: in another generation, or with another member under its name,
 * perhaps ourselves after joining again.
 */
export function isGroupMoved(error: unknown): boolean {
  return [
    ...['ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'REBALANCE_IN_PROGRESS'],
    'FENCED_INSTANCE_ID',
  ].includes(kindOf(error));
}

/** The transaction is lost, and its producer's state with it: begin with a new epoch. */
export function isProducerLost(error: unknown): boolean {
  return [
    ...['INVALID_PRODUCER_EPOCH', 'PRODUCER_FENCED', 'INVALID_PRODUCER_ID_MAPPING'],
    ...['UNKNOWN_PRODUCER_ID', 'OUT_OF_ORDER_SEQUENCE_NUMBER', 'INVALID_TXN_STATE'],
    ...['TRANSACTION_ABORTABLE', 'TRANSACTION_COORDINATOR_FENCED'],
  ].includes(kindOf(error));
}

export function isRefused(error: unknown): boolean {
  if (/AUTHORIZATION_FAILED|SASL/.test(kindOf(error))) return true;
  return [...within(error)].some(({ code }) => code === 'PLT_KFK_AUTHENTICATION');
}
