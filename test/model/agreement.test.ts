import { describe, expect, test } from '@jest/globals';
import { Agreement, ruleBetween } from '../../model/agreement.ts';

describe('the agreement between an engine and a trainer', () => {
  const float32 = { precision: 'float32', meanMax: null } as const;

  test('is that of float32 where both compute in it', () => {
    const rule = ruleBetween({ agreement: float32 }, {})!;
    expect(rule).toEqual(float32);
    expect(new Agreement(rule).meanMax).toBe(1e-3);
  });

  test('allows what the trainer rounds, where a service trains in half precision', () => {
    const rule = ruleBetween({ agreement: float32 }, { precision: 'unknown' })!;
    expect(new Agreement(rule).meanMax).toBe(0.05);
  });

  test('allows what the engine rounds, whatever the trainer computes in', () => {
    const lower = { precision: 'lower', meanMax: 0.03 } as const;
    expect(ruleBetween({ agreement: lower }, { precision: 'float32' })).toEqual(lower);
  });

  test('is none where the engine has no rule', () => {
    expect(ruleBetween({}, { precision: 'unknown' })).toBeNull();
  });
});
