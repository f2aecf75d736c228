/** A broker of the test's own that speaks TLS and requires a login. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  Kafka,
  logLevel,
  ResourcePatternTypes,
} from 'kafkajs';
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import { type Broker, freePort, startBroker } from '../../../scripts/kafka/broker.ts';
import { openKafkaLog } from '../../../streams/kafka/openKafkaLog.ts';
import type { Log } from '../../../streams/log.ts';
import { allTopics, topics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { describeKafka } from '../../support/kafka.ts';
import { question, toolCall } from '../../support/records.ts';

/** A certificate for 127.0.0.1 that signs itself, as `ca.pem`, and with its key as `both.pem`. */
function makeCertificate(folder: string): void {
  const [key, ca] = [join(folder, 'key.pem'), join(folder, 'ca.pem')];
  const made = spawnSync('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=broker'],
    ...['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', ca],
  ]);
  if (made.status !== 0) throw new Error(`openssl: ${made.error ?? made.stderr}`);
  writeFileSync(join(folder, 'both.pem'), readFileSync(key, 'utf8') + readFileSync(ca, 'utf8'));
}

describeKafka('a broker with TLS and logins', () => {
  const folder = temporaryFolder();
  const login =
    'org.apache.kafka.common.security.plain.PlainLoginModule required user_me="hush" user_clerk="hush";';
  let plainPort: number;
  let port: number;
  let broker: Broker;

  const open = (url: string, password: string, user = 'me'): Promise<Log> =>
    openKafkaLog({
      topics: allTopics,
      url,
      run: 'secured',
      mode: 'write',
      openMs: 3000,
      env: { MILLRACE_KAFKA_USERNAME: user, MILLRACE_KAFKA_PASSWORD: password },
    });

  beforeAll(async () => {
    makeCertificate(folder.path);
    port = await freePort();
    plainPort = await freePort();
    broker = await startBroker({
      folder: join(folder.path, 'kafka'),
      port: plainPort,
      listeners: [`SASL_SSL://127.0.0.1:${port}`],
      properties: {
        'ssl.keystore.type': 'PEM',
        'ssl.keystore.location': join(folder.path, 'both.pem'),
        'listener.name.sasl_ssl.sasl.enabled.mechanisms': 'PLAIN',
        'listener.name.sasl_ssl.plain.sasl.jaas.config': login,
        'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'super.users': 'User:ANONYMOUS;User:me',
      },
    });
  });
  afterAll(async () => {
    await broker?.kill();
    folder.remove();
  });

  test('is written to and read from', async () => {
    const log = await open(`kafkas://127.0.0.1:${port}?ca=${join(folder.path, 'ca.pem')}`, 'hush');
    await log.commit((tx) => tx.append(topics.questions, question({ id: 'secret' })));
    const delivery = await firstValueFrom(
      log.read(topics.questions, { group: 'g', inflightMax: 1 }),
    );
    expect(delivery.value.id).toBe('secret');
    await log.commit((tx) => tx.settle(delivery));
    expect(await log.lag(topics.questions, 'g')).toBe(0);
    await log.close();
  });

  test('refuses a wrong password without repeating it', async () => {
    const opening = open(`kafkas://127.0.0.1:${port}?ca=${join(folder.path, 'ca.pem')}`, 'wrong1');
    await expect(opening).rejects.toMatchObject({ code: 'KAFKA_AUTH' });
    await expect(opening).rejects.not.toThrow(/wrong1/);
  });

  test('is not trusted without its authority', async () => {
    await expect(open(`kafkas://127.0.0.1:${port}`, 'hush')).rejects.toThrow(/certificate/);
  });

  test('reports the right that is missing to shrink a run, which shrinks without loss once it has it', async () => {
    const admin = new Kafka({
      brokers: [`127.0.0.1:${plainPort}`],
      logLevel: logLevel.NOTHING,
    }).admin();
    await admin.connect();
    const { READ, WRITE, CREATE, DESCRIBE, DELETE } = AclOperationTypes;
    const { TOPIC, GROUP, TRANSACTIONAL_ID } = AclResourceTypes;
    const allow = (resourceType: AclResourceTypes, operation: AclOperationTypes) => ({
      ...{ resourceType, operation, resourceName: 'secured.', principal: 'User:clerk', host: '*' },
      resourcePatternType: ResourcePatternTypes.PREFIXED,
      permissionType: AclPermissionTypes.ALLOW,
    });
    await admin.createAcls({
      acl: [
        ...[READ, WRITE, CREATE, DESCRIBE].map((operation) => allow(TOPIC, operation)),
        allow(GROUP, READ),
        ...[WRITE, DESCRIBE].map((operation) => allow(TRANSACTIONAL_ID, operation)),
      ],
    });
    const ca = join(folder.path, 'ca.pem');
    const log = await open(`kafkas://127.0.0.1:${port}?ca=${ca}`, 'hush', 'clerk');
    const turns = Array.from({ length: 40 }, (_, turn) => turn);
    await log.commit((tx) => {
      for (const turn of turns) tx.append(topics.toolCalls, toolCall({ turn }));
    });
    const limits = { bytesMax: 0, segmentRecords: 8, archive: join(folder.path, 'archive') };
    await expect(log.retain!(limits)).rejects.toMatchObject({
      code: 'KAFKA_AUTH',
      message: expect.stringMatching(
        /may not delete records of secured\.tool-calls: grant it the right to delete on topics that begin with secured\./,
      ),
    });
    const read = async () => {
      const records$ = log.tap(topics.toolCalls, { from: { kind: 'earliest' }, follow: false });
      return (await lastValueFrom(records$.pipe(toArray()))).map(({ value }) => value.turn);
    };
    expect(await read()).toEqual(turns);
    expect(await log.lost!()).toEqual([]);
    await admin.createAcls({ acl: [allow(TOPIC, DELETE)] });
    expect((await log.retain!(limits)).segments).toBeGreaterThan(0);
    expect(await read()).toEqual(turns);
    await log.close();
    await admin.disconnect();
  });
});
