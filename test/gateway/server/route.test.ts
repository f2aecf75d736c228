import { describe, expect, test } from '@jest/globals';
import { routeOf } from '../../../gateway/server/route.ts';

describe('a path', () => {
  test.each([
    ['/v1/chat/completions', 'call', 'chat', null],
    ['/chat/completions', 'call', 'chat', null],
    ['/v1/responses', 'call', 'responses', null],
    ['/v1/messages?beta=true', 'call', 'messages', null],
    ['/v1/v1/messages', 'call', 'messages', null],
    ['/s/k/v1/v1/messages', 'call', 'messages', 'k'],
    ['/s/k/messages/', 'call', 'messages', 'k'],
    ['/s/k//v1/chat/completions', 'call', 'chat', 'k'],
    ['/s/a%2Fb%20c/v1/responses', 'call', 'responses', 'a/b c'],
    ['/s/k/v1/messages/count_tokens', 'count', 'messages', 'k'],
    ['/s/k/reward', 'reward', 'chat', 'k'],
    ['/v1/reward', 'reward', 'chat', null],
    ['/s/k/v1/models', 'models', 'chat', 'k'],
    ['/s/k/v1/', 'base', 'chat', 'k'],
    ['/', 'base', 'chat', null],
    ['/healthz', 'health', 'chat', null],
    ['/s/k/healthz', 'unknown', 'chat', 'k'],
    ['/s', 'unknown', 'chat', null],
    ['/v1/messages/batches', 'unknown', 'messages', null],
    ['/v1/embeddings', 'unknown', 'chat', null],
    ['/%zz', 'unknown', 'chat', null],
    ['/s/%zz/v1/responses', 'unknown', 'chat', null],
  ])('%s is for %s in %s with the key %s', (url, kind, protocol, key) => {
    const route = routeOf(url);
    expect([route.kind, route.protocol.name, route.key]).toEqual([kind, protocol, key]);
  });

  test('names a model, whatever is in its name', () => {
    expect(routeOf('/v1/models/org%2Fname:1').rest).toBe('org/name:1');
  });
});
