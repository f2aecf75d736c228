import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { HttpRegistry } from '../../../streams/foreign/httpRegistry.ts';
import { type SchemaRegistry, seal, unseal } from '../../../streams/foreign/wireFormat.ts';
import { partitionOf } from '../../../streams/kafka/kafkaTopics.ts';
import { Schemas } from '../../../streams/kafka/registry.ts';
import { topics } from '../../../topics/index.ts';
import { question } from '../../support/records.ts';
import { type RegistryServer, startRegistry } from '../../support/registryServer.ts';

describe('the wire format', () => {
  test('is a zero byte, the id, big end first, and the body', () => {
    const sealed = seal(0x01020304, Buffer.from('avro'));
    expect([...sealed.subarray(0, 5)]).toEqual([0, 1, 2, 3, 4]);
    expect(unseal(sealed)).toEqual({ id: 0x01020304, body: Buffer.from('avro') });
  });

  test('is distinguished from anything else in a topic', () => {
    expect(unseal(Buffer.from('{"a":1}'))).toBeNull();
    expect(unseal(Buffer.alloc(4))).toBeNull();
  });

  test('is refused with its position if something else wrote the record', () => {
    const schemas = new Schemas({ idOf: async () => 1, byId: async () => null });
    const record = {
      partition: 2,
      offset: 7,
      key: '',
      headers: [],
      producerId: 1n,
      atMs: 0,
    };
    const decoding = (): unknown =>
      schemas.decode(topics.questions, { ...record, value: Buffer.from('{"a":1}') });
    expect(decoding).toThrow(/questions@2\/7 is not in the wire format/);
  });
});

describe('a registry server', () => {
  let server: RegistryServer;
  let registry: SchemaRegistry;

  beforeEach(async () => {
    server = await startRegistry();
    registry = new HttpRegistry({ url: server.url, username: 'me', password: 'hush' }, 'run');
  });
  afterEach(() => server.close());

  test('gives each schema an id, and the schema for it', async () => {
    const schemas = new Schemas(registry);
    const id = await schemas.idOf(topics.questions);
    expect(server.schemas[id - 1]?.subject).toBe('run.questions-value');
    const value = seal(id, topics.questions.codec.encode(question({ id: 'q' })));
    const reader = new Schemas(registry);
    const record = {
      partition: 0,
      offset: 0,
      key: 'q',
      headers: [],
      producerId: 1n,
      atMs: 0,
      value,
    };
    await reader.prepare([record]);
    expect(reader.decode(topics.questions, record).id).toBe('q');
  });

  test('is asked with the login', async () => {
    await new Schemas(registry).idOf(topics.questions);
    expect(server.logins[0]).toBe(`Basic ${Buffer.from('me:hush').toString('base64')}`);
  });

  test('is not followed through a redirect', async () => {
    const other = await startRegistry();
    server.answer = (request, response) =>
      response.writeHead(302, { location: other.url + request.url }).end();
    await expect(new Schemas(registry).idOf(topics.questions)).rejects.toThrow(
      /redirects \(HTTP 302\), and redirects are not followed/,
    );
    expect(other.logins).toEqual([]);
    await other.close();
  });

  test('whose answer never ends is given up', async () => {
    const page = 'x'.repeat(1_000_000);
    let pages = 0;
    server.answer = (_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(page)) pages++;
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    };
    await expect(new Schemas(registry).idOf(topics.questions)).rejects.toThrow(/over limit/);
    expect(pages).toBeLessThan(200);
  });

  test('that echoes its request reveals no login', async () => {
    server.answer = (request, response) => {
      const message = `${'x'.repeat(370)} you are ${request.headers.authorization}, me:hush`;
      response.writeHead(422).end(JSON.stringify({ message }));
    };
    const error = await registry.byId(1).catch((cause: Error) => cause);
    expect(String(error)).toContain('you are Basic [secret]');
    expect(String(error)).not.toContain('hush');
  });

  test.each(['null', '{"id":"1"}', '{"schema":7}', '[]', 'no JSON'])(
    'that answers %s is an error with its address',
    async (body) => {
      server.answer = (_, response) => response.end(body);
      await expect(registry.byId(1)).rejects.toMatchObject({
        code: 'KAFKA',
        message: expect.stringContaining('does not answer like a schema registry'),
      });
    },
  );

  test('that does not know an id makes that record unreadable, not the page', async () => {
    const schemas = new Schemas(registry);
    const id = await schemas.idOf(topics.questions);
    const body = topics.questions.codec.encode(question({ id: 'q' }));
    const place = {
      partition: 0,
      offset: 0,
      key: 'q',
      headers: [],
      producerId: 1n,
      atMs: 0,
    };
    const [known, unknown] = [
      { ...place, value: seal(id, body) },
      { ...place, value: seal(77, body) },
    ];
    await schemas.prepare([unknown, known]);
    expect(schemas.decode(topics.questions, known).id).toBe('q');
    expect(() => schemas.decode(topics.questions, unknown)).toThrow(/schema 77/);
  });

  test('is not given a schema that could not read the older ones', async () => {
    await registry.idOf('t-value', 'string', () => undefined);
    const check = (older: readonly unknown[]): void => {
      throw new Error(`cannot read ${older}`);
    };
    await expect(registry.idOf('t-value', 'int', check)).rejects.toThrow('cannot read string');
    expect(server.schemas).toHaveLength(1);
  });

  test('has its errors distinguished by code', async () => {
    await expect(registry.byId(9)).rejects.toMatchObject({ code: 'SCHEMA' });
    server.status = 401;
    await expect(registry.byId(1)).rejects.toMatchObject({ code: 'KAFKA_AUTH' });
    await expect(registry.byId(1)).rejects.not.toThrow(/hush/);
    server.status = 422;
    await expect(registry.idOf('t', 'int', () => undefined)).rejects.toMatchObject({
      code: 'SCHEMA',
    });
  });
});

test('keys are partitioned as by other Kafka clients', () => {
  // Values that the tests of Kafka's own client state for these bytes.
  const known: readonly (readonly [string, number])[] = [
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ];
  const partitions = 2 ** 20;
  for (const [text, hash] of known) {
    expect([text, partitionOf(text, partitions)]).toEqual([text, (hash & 0x7fffffff) % partitions]);
  }
});
