import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import {
  environmentFor,
  hostsIn,
  kafkaSettings,
  shownAddress,
} from '../../../streams/foreign/kafkaUrl.ts';
import { temporaryFolder } from '../../support/folder.ts';

describe('the address of a Kafka log', () => {
  test('names one broker, or several, by the usual port', () => {
    expect(kafkaSettings('kafka://one').brokers).toEqual(['one:9092']);
    expect(kafkaSettings('kafka://a:1,b:2,c').brokers).toEqual(['a:1', 'b:2', 'c:9092']);
  });

  test('sets only what it says', () => {
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

  test('asks for TLS by its scheme, with its own certificate files', () => {
    const folder = temporaryFolder();
    const ca = join(folder.path, 'ca.pem');
    writeFileSync(ca, 'authority');
    expect(kafkaSettings('kafkas://h').tls).toEqual({});
    expect(kafkaSettings(`kafka://h?tls=true&ca=${ca}`).tls).toEqual({ ca: 'authority' });
    expect(kafkaSettings('kafkas://h', { MILLRACE_KAFKA_CA: ca }).tls).toEqual({ ca: 'authority' });
    folder.remove();
  });

  test('gets credentials of the environment only for hosts that the user named, if a file names it', () => {
    const login = { MILLRACE_KAFKA_USERNAME: 'ada', MILLRACE_KAFKA_PASSWORD: 'pa55word-7' };
    const registry = {
      MILLRACE_REGISTRY_USERNAME: 'eve',
      MILLRACE_REGISTRY_PASSWORD: 'pa55word-8',
    };
    const env = { ...login, ...registry, HOME: '/home/ada' };
    const of = (url: string, hosts = '') => environmentFor(url, { ...env, MILLRACE_HOSTS: hosts });
    expect(of('kafka://attacker.test:9092')).toEqual({
      ...registry,
      HOME: '/home/ada',
      MILLRACE_HOSTS: '',
    });
    expect(() => of('kafka://attacker.test:9092?sasl=plain')).toThrow(
      /at attacker\.test:9092, and credentials .* MILLRACE_HOSTS=attacker\.test:9092 if they are yours/,
    );
    expect(() => of('kafka://a:1,attacker.test:9092?sasl=plain', 'a:1')).toThrow(/MILLRACE_HOSTS/);
    expect(of('kafka://mine.test?sasl=plain', 'mine.test')).toMatchObject(login);
    expect(of('kafka://mine.test:9093?sasl=plain', 'x, MINE.test:9093')).toMatchObject(login);
    const both = 'kafka://mine.test?sasl=plain&registry=http://attacker.test:8081';
    expect(() => of(both, 'mine.test')).toThrow(/at attacker\.test:8081/);
    expect(of(both, 'mine.test,attacker.test')).toMatchObject(registry);
    expect(hostsIn(both)).toEqual(['mine.test:9092', 'attacker.test:8081']);
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
    ['kafka://h?partitions=0', /partitions must be a whole number/],
    ['kafka://h?compression=lzma', /none, gzip, zstd/],
    ['kafka://me@h', /has a user but no password.*MILLRACE_KAFKA_PASSWORD/],
    ['kafka://h?sasl=plain', /needs a user/],
    ['kafkas://h?ca=/nowhere/ca.pem', /ca file cannot be read/],
    ['kafka://h?registry=reg', /registry is not an http/],
    ['kafka://h?worker=a.b', /worker may contain/],
  ])('%s is refused with a reason', (url, reason) => {
    expect(() => kafkaSettings(url)).toThrow(reason);
  });

  test('is shown and stored without users and passwords', () => {
    const secret = 'kafkas://me:hush@h:1,i?registry=http%3A%2F%2Fu%3Ahush%40reg&partitions=4';
    const shown = shownAddress(secret);
    expect(shown).toBe('kafkas://h:1,i:9092?registry=http%3A%2F%2Freg&partitions=4&sasl=plain');
    const env = {
      MILLRACE_KAFKA_USERNAME: 'me',
      MILLRACE_KAFKA_PASSWORD: 'hush',
      MILLRACE_REGISTRY_USERNAME: 'u',
      MILLRACE_REGISTRY_PASSWORD: 'hush',
    };
    expect(kafkaSettings(shown, env)).toEqual(kafkaSettings(secret));
    expect(() => kafkaSettings(shown)).toThrow(/sasl needs a user.*MILLRACE_KAFKA_USERNAME/);
    expect(shownAddress('kafka://h?registry=http://TOKEN@reg/v2')).not.toContain('TOKEN');
  });

  test.each([
    'kafka://u:S3C?RET@h',
    'kafka://u:9?S3CRET@h',
    'kafka://u:9?S3CRET&more@h',
    'kafka://u:S3C/RET@h',
    'kafka://u:S3C@RET@h',
    'kafka://u:S3C%RET@h',
    'kafka://S3CRET@h',
    'kafka://u:9?partitions=S3CRET@h',
    'kafka://h?registry=http://h/?apikey=S3CRET',
    'kafka://h?registry=http%3A%2F%2Fh%2F%3Fapikey%3DS3CRET',
    'kafka://h?registry=ftp://S3CRET@h',
    'kafka://h?registry=http://S3C%RET@h',
  ])('%s is refused, and no part of it repeated', (url) => {
    const said = (read: () => unknown): string => {
      try {
        return String(read());
      } catch (error) {
        return String(error);
      }
    };
    expect(() => kafkaSettings(url)).toThrow();
    expect(said(() => kafkaSettings(url))).not.toMatch(/S3C|RET/);
    expect(said(() => shownAddress(url))).not.toMatch(/S3C|RET/);
  });
});
