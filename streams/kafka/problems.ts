/**
 * What an answer of the broker, or none, means for whoever asked: try again, and how, or give up.
 */

/** How to try again: from new connections, with new metadata, at another coordinator, or just later. */
export type Remedy = 'reconnect' | 'metadata' | 'coordinator' | 'later';

/** What we read of an error of kafkajs. */
interface Raised {
  readonly name?: string;
  readonly type?: string;
  readonly code?: unknown;
  readonly message?: string;
  readonly cause?: unknown;
  readonly errors?: readonly unknown[];
}

/** Codes younger than kafkajs, which gives them as `Unknown error code N`. */
const YOUNG: Readonly<Record<string, string>> = {
  90: 'PRODUCER_FENCED',
  120: 'TRANSACTION_ABORTABLE',
};

/** The protocol's name of the error, or ''. */
export function kindOf(error: unknown): string {
  const { type, message = '', cause, errors } = error as Raised;
  if (errors?.[0] !== undefined) return kindOf(errors[0]);
  if (type !== undefined && type !== 'KAFKAJS_UNKNOWN_ERROR_CODE') return type;
  const young = YOUNG[/^Unknown error code (\d+)$/.exec(message)?.[1] ?? ''];
  if (young !== undefined) return young;
  return cause === undefined || cause === null ? (type ?? '') : kindOf(cause);
}

const REMEDIES: Readonly<Record<string, Remedy>> = {
  UNKNOWN_TOPIC_OR_PARTITION: 'metadata',
  LEADER_NOT_AVAILABLE: 'metadata',
  NOT_LEADER_FOR_PARTITION: 'metadata',
  REPLICA_NOT_AVAILABLE: 'metadata',
  FENCED_LEADER_EPOCH: 'metadata',
  UNKNOWN_LEADER_EPOCH: 'metadata',
  KAFKA_STORAGE_ERROR: 'metadata',
  NOT_CONTROLLER: 'metadata',
  OPERATION_NOT_ATTEMPTED: 'metadata',
  BROKER_NOT_AVAILABLE: 'reconnect',
  NETWORK_EXCEPTION: 'reconnect',
  REQUEST_TIMED_OUT: 'later',
  NOT_ENOUGH_REPLICAS: 'later',
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'later',
  CONCURRENT_TRANSACTIONS: 'later',
  UNSTABLE_OFFSET_COMMIT: 'later',
  OFFSET_NOT_AVAILABLE: 'later',
  GROUP_LOAD_IN_PROGRESS: 'later',
  GROUP_COORDINATOR_NOT_AVAILABLE: 'coordinator',
  NOT_COORDINATOR_FOR_GROUP: 'coordinator',
};

const CONNECTION =
  /Connection|RequestTimeout|BrokerNotFound|LockTimeout|MetadataNotLoaded|NoBrokerAvailable|GroupCoordinatorNotFound/;
const SOCKET = /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)/;

/** Null: trying again would not help. */
export function remedyFor(error: unknown): Remedy | null {
  const kind = kindOf(error);
  if (kind !== '') return REMEDIES[kind] ?? null;
  const { name = '', code, cause } = error as Raised;
  if (/SASLAuthentication/.test(name)) return null;
  if (CONNECTION.test(name) || SOCKET.test(String(code))) return 'reconnect';
  return cause === undefined || cause === null ? null : remedyFor(cause);
}

/** The group goes on without this member, or in another generation. */
export function isGroupMoved(error: unknown): boolean {
  return ['ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'REBALANCE_IN_PROGRESS'].includes(
    kindOf(error),
  );
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
  const { name = '' } = error as Raised;
  return /SASLAuthentication/.test(name) || /AUTHORIZATION_FAILED|SASL/.test(kindOf(error));
}
