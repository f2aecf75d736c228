/** A link where brokers come and go: the one broker of the tests, next to others that are gone or hang. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { leaveGroupV4 } from '@platformatic/kafka';
import { kafkaSettings } from '../../../streams/foreign/kafkaUrl.ts';
import { KafkaTopics } from '../../../streams/kafka/kafkaTopics.ts';
import { Link, partitionCount } from '../../../streams/kafka/link.ts';
import { Membership } from '../../../streams/kafka/membership.ts';
import { STATE_TOPIC, StateTopic } from '../../../streams/kafka/stateTopic.ts';
import { GroupMoved, Transactor } from '../../../streams/kafka/transactor.ts';
import { allTopics, topics } from '../../../topics/index.ts';
import { describeKafka, freshRun, kafkaUrl } from '../../support/kafka.ts';

const PATIENCE_MS = 20_000;

describeKafka('a link to a cluster', () => {
  const broker = kafkaUrl.slice('kafka://'.length);
  let closing: AbortController;
  let notices: string[];
  let servers: Server[];
  let sockets: Socket[];

  const linkTo = (...brokers: readonly string[]): Link =>
    new Link({
      settings: kafkaSettings(`kafka://${brokers.join(',')}`, {}),
      clientId: 'test',
      patienceMs: PATIENCE_MS,
      closing: closing.signal,
      notice: (line) => void notices.push(line),
    });
  /** Something that takes connections. */
  const listening = async (meet: (socket: Socket) => void): Promise<string> => {
    const server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined);
      meet(socket);
    });
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `127.0.0.1:${(server.address() as { port: number }).port}`;
  };
  const endServers = (): void => {
    for (const server of servers) server.close();
    for (const socket of sockets) socket.destroy();
  };
  const none = (link: Link, limits = {}): Promise<number> =>
    link.ask({ kind: 'any' }, partitionCount, ['no-such-topic'], limits);

  beforeEach(() => {
    closing = new AbortController();
    notices = [];
    servers = [];
    sockets = [];
  });
  afterEach(() => {
    closing.abort();
    endServers();
  });

  test('asks brokers outside its address if the named one is gone', async () => {
    const [host = '', port = ''] = broker.split(':');
    const named = await listening((socket) => {
      const there = connect(Number(port), host);
      sockets.push(there);
      there.on('error', () => undefined);
      socket.pipe(there).pipe(socket);
    });
    const link = linkTo(named);
    const another = link.another();
    await link.reach(PATIENCE_MS);
    endServers();
    await expect(none(link, { patienceMs: 1000 })).resolves.toBe(0);
    await expect(none(another, { patienceMs: 1000 })).resolves.toBe(0);
    expect(notices).toEqual([]);
  });

  test('skips a broker that accepts connections without answering', async () => {
    const hung = await listening(() => undefined);
    await expect(none(linkTo(hung, broker), { answerMs: 300 })).resolves.toBe(0);
  });

  test('recognises a late commit from before it left and rejoined its group', async () => {
    const run = freshRun();
    const link = linkTo(broker);
    const own = new KafkaTopics(link, run, allTopics);
    const { name } = topics.questions;
    await own.ensure(name);
    await own.ensure(STATE_TOPIC, 'state');
    const worker = 'w';
    const transactor = new Transactor(link, new StateTopic(link, own), {
      ...{ run, worker, timeoutMs: 30_000 },
      clock: { now: () => 1 },
    });
    await transactor.open();
    const groupId = `${run}.g`;
    const failed: unknown[] = [];
    let gains = 0;
    const membership = new Membership(
      link.another(),
      { groupId, topic: own.nameOf(name), partitions: 1, worker, sessionMs: 6000, heartbeatMs: 20 },
      {
        gained: async () => {
          gains += 1;
        },
        released: async () => undefined,
        lost: () => undefined,
        failed: (error) => void failed.push(error),
      },
    );
    membership.start();
    const gained = async (times: number): Promise<void> => {
      while (gains < times && failed.length === 0) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    await gained(1);
    const before = membership.member;
    const leaving = [{ memberId: '', groupInstanceId: worker }];
    const at = { kind: 'coordinator', of: 'group', id: groupId } as const;
    await link.ask(at, leaveGroupV4.api, [groupId, leaving]);
    await gained(2);
    const late = transactor.run({
      writes: [],
      offsets: [
        {
          member: before,
          topic: own.nameOf(name),
          offsets: [{ partition: 0, offset: 1, metadata: '' }],
        },
      ],
      state: new Map(),
      counts: new Map(),
      note: null,
      atMs: 1,
    });
    await expect(late).rejects.toBeInstanceOf(GroupMoved);
    expect(failed).toEqual([]);
    await membership.end();
  });
});
