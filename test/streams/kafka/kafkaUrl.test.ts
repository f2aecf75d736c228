import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { kafkaSettings, withoutSecrets } from '../../../streams/kafka/kafkaUrl.ts';
import { temporaryFolder } from '../../support/folder.ts';

describe('the address of a Kafka log', () => {
  test('names one broker, or several, by the usual port', () => {
    expect(kafkaSettings('kafka://one').brokers).toEqual(['one:9092']);
    expect(kafkaSettings('kafka://a:1,b:2,c').brokers).toEqual(['a:1', 'b:2', 'c:9092']);
  });

  test('asks for nothing it does not say', () => {
    expect(kafkaSettings('kafka://one')).toEqual({
      brokers: ['one:9092'],
      tls: null,
      sasl: null,
      registry: null,
      compression: 'none',
      partitions: 1,
      replication: -1,
      worker: 'main',
    });
  });

  test('holds a login, which the environment may complete', () => {
    const sasl = { mechanism: 'plain', username: 'me', password: 'p:@/x' };
    expect(kafkaSettings('kafka://me:p%3A%40%2Fx@h').sasl).toEqual(sasl);
    const env = { MILLRACE_KAFKA_USERNAME: 'me', MILLRACE_KAFKA_PASSWORD: 'p:@/x' };
    expect(kafkaSettings('kafka://h', env).sasl).toEqual(sasl);
    expect(kafkaSettings('kafka://me@h?sasl=scram-sha-512', env).sasl).toEqual({
      ...sasl,
      mechanism: 'scram-sha-512',
    });
  });

  test('asks for TLS by its scheme, with files of its own', () => {
    const folder = temporaryFolder();
    const ca = join(folder.path, 'ca.pem');
    writeFileSync(ca, 'authority');
    expect(kafkaSettings('kafkas://h').tls).toEqual({});
    expect(kafkaSettings(`kafka://h?tls=true&ca=${ca}`).tls).toEqual({ ca: 'authority' });
    expect(kafkaSettings('kafkas://h', { MILLRACE_KAFKA_CA: ca }).tls).toEqual({ ca: 'authority' });
    folder.remove();
  });

  test('names a registry and its login', () => {
    const { registry } = kafkaSettings('kafka://h?registry=https://u:s@reg:8081/');
    expect(registry).toEqual({ url: 'https://reg:8081', username: 'u', password: 's' });
  });

  test.each([
    ['kafka://', /not a Kafka URL/],
    ['kafka://h:port', /not host:port/],
    ['kafka://h,i:99999', /"i:99999" is not host:port/],
    ['kafka://h?partition=2', /setting "partition".*partitions/],
    ['kafka://h?partitions=0', /partitions is a whole number/],
    ['kafka://h?compression=lzma', /none, gzip, zstd/],
    ['kafka://me@h', /no password for me.*MILLRACE_KAFKA_PASSWORD/],
    ['kafka://h?sasl=plain', /needs a user/],
    ['kafkas://h?ca=/nowhere/ca.pem', /ca file cannot be read/],
    ['kafka://h?registry=reg', /registry is not an http/],
    ['kafka://h?worker=a.b', /worker may hold/],
  ])('%s is refused with a reason', (url, reason) => {
    expect(() => kafkaSettings(url)).toThrow(reason);
  });

  test('is shown and stored without passwords', () => {
    const secret = 'kafkas://me:hush@h:1,i?registry=http%3A%2F%2Fu%3Ahush%40reg&partitions=4';
    const shown = withoutSecrets(secret);
    expect(shown).not.toContain('hush');
    const env = { MILLRACE_KAFKA_PASSWORD: 'hush', MILLRACE_REGISTRY_PASSWORD: 'hush' };
    expect(kafkaSettings(shown, env)).toEqual(kafkaSettings(secret));
  });
});
