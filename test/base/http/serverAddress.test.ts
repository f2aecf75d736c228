import { describe, expect, test } from '@jest/globals';
import { MODEL_SERVER, serverAddresses } from '../../../base/http/serverAddress.ts';
import { checkSettings, parseSetting } from '../../../cli/settings.ts';
import { calibrateSettings } from '../../../jobs/calibrate/settings.ts';
import { readySettings } from '../../../jobs/parts/readyParts.ts';

test('server addresses are read as people write them', () => {
  expect(serverAddresses('http://a:8000/v1/, https://b/models', MODEL_SERVER)).toEqual([
    'http://a:8000',
    'https://b/models',
  ]);
  expect(serverAddresses('', MODEL_SERVER)).toEqual([]);
});

describe('the check of settings', () => {
  const schema = calibrateSettings.extend(readySettings);
  const needed = ['policy=p', 'questions=q'];
  const refusal = (setting: string): string => {
    try {
      checkSettings(schema, [...needed, setting].map(parseSetting));
      return 'none';
    } catch (error) {
      return String(error);
    }
  };

  test.each([
    ['engine.urls', 'http://ok:1,http://user:Pa55w0rd@host:8000'],
    ['engine.urls', 'http://user:Pa55,w0rd@host:8000'],
    ['engine.urls', 'http://host:8000/v1?api_key=Pa55w0rd'],
    ['engine.urls', 'user:Pa55w0rd@host'],
    ['trainer.url', 'http://Pa55w0rd@host:8200'],
    ['tools.search.url', 'https://u:Pa55w0rd@host/search?q={query}'],
    ['tools.search.url', 'https://host/search?q={query}&key=Pa55w0rd'],
    ['tools.search.url', 'https://host/search?q={query}&id=sk-Pa55w0rd'],
    ['tools.search.headers', 'Authorization: Bearer Pa55w0rd'],
    ['tools.search.headers', 'X-API-Key: Pa55w0rd'],
    ['tools.pages.url', 'https://host/read?token=Pa55w0rd'],
  ])('refuses %s=%s without repeating the secret', (key, value) => {
    const said = refusal(`${key}=${value}`);
    expect(said).toMatch(new RegExp(`${key}(\\.\\d+)?: `));
    expect(said).toMatch(/keyEnv|is not a valid URL for a model server: write http/);
    expect(said).not.toMatch(/Pa55|w0rd/);
  });

  test('takes addresses and headers without a secret', () => {
    expect(refusal('engine.urls=http://a:1/v1, http://b:2')).toBe('none');
    const search = 'tools.search.url=https://host/search?q={query}&key={key}&engine=web&safe=1';
    expect(refusal(search)).toBe('none');
    expect(refusal('tools.search.headers=Authorization: Bearer {key}')).toBe('none');
    expect(refusal('tools.search.headers=Accept: application/json')).toBe('none');
  });
});
