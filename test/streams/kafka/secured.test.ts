/** A broker of the test's own that speaks TLS and asks for a login. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { firstValueFrom } from 'rxjs';
import { type Broker, freePort, startBroker } from '../../../scripts/kafka/broker.ts';
import { openKafkaLog } from '../../../streams/kafka/openKafkaLog.ts';
import type { Log } from '../../../streams/log.ts';
import { topics } from '../../../streams/topics.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { describeKafka } from '../../support/kafka.ts';
import { question } from '../../support/records.ts';

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
  const login = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_me="hush";';
  let port: number;
  let broker: Broker;

  const open = (url: string, password: string): Promise<Log> =>
    openKafkaLog({
      url,
      run: 'secured',
      mode: 'write',
      openMs: 3000,
      env: { MILLRACE_KAFKA_USERNAME: 'me', MILLRACE_KAFKA_PASSWORD: password },
    });

  beforeAll(async () => {
    makeCertificate(folder.path);
    port = await freePort();
    broker = await startBroker({
      folder: join(folder.path, 'kafka'),
      port: await freePort(),
      listeners: [`SASL_SSL://127.0.0.1:${port}`],
      properties: {
        'ssl.keystore.type': 'PEM',
        'ssl.keystore.location': join(folder.path, 'both.pem'),
        'listener.name.sasl_ssl.sasl.enabled.mechanisms': 'PLAIN',
        'listener.name.sasl_ssl.plain.sasl.jaas.config': login,
      },
    });
  }, 100_000);
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
  }, 60_000);

  test('refuses a wrong password, of which the message says nothing', async () => {
    const opening = open(`kafkas://127.0.0.1:${port}?ca=${join(folder.path, 'ca.pem')}`, 'wrong1');
    await expect(opening).rejects.toMatchObject({ code: 'KAFKA_AUTH' });
    await expect(opening).rejects.not.toThrow(/wrong1/);
  });

  test('is not trusted without its authority', async () => {
    await expect(open(`kafkas://127.0.0.1:${port}`, 'hush')).rejects.toThrow(/certificate/);
  });
});
