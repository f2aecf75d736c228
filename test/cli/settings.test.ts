import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { nearest, nearestNames } from '../../cli/nearest.ts';
import { knownSettings } from '../../cli/settingFields.ts';
import { checkSettings, parseSetting } from '../../cli/settings.ts';

const schema = z.object({
  lr: z.number().positive().default(0.1).describe('learning rate'),
  name: z.string().default('none'),
  sigmas: z.array(z.number()).default([1, 2]),
  loss: z
    .object({ clip: z.number().default(0.2), kind: z.enum(['grpo', 'ppo']).default('grpo') })
    .prefault({}),
});
const check = (...sets: string[]) => checkSettings(schema, sets.map(parseSetting));

describe('settings', () => {
  it('are the defaults if nothing is set', () => {
    expect(check()).toEqual({
      lr: 0.1,
      name: 'none',
      sigmas: [1, 2],
      loss: { clip: 0.2, kind: 'grpo' },
    });
  });

  it('read values as JSON, dotted keys as groups, and the rest as text', () => {
    expect(check('lr=3e-4', 'sigmas=[0.5]', 'loss.kind=ppo', 'name=a=b')).toEqual({
      lr: 3e-4,
      name: 'a=b',
      sigmas: [0.5],
      loss: { clip: 0.2, kind: 'ppo' },
    });
  });

  it.each(['7', 'true', 'null', '[1]', ''])('keep %j as text where text is wanted', (text) => {
    expect(check(`name=${text}`)).toMatchObject({ name: text });
  });

  it('keep the defaults that a job gives a group, if another of its settings is set', () => {
    const limits = z.object({ most: z.number().default(9), least: z.number().default(0) });
    const role = z.object({
      heat: z.number().default(1),
      size: z.number().default(8),
      limits: limits.prefault({}),
      headers: z.record(z.string(), z.string()).default({}),
    });
    const job = z.object({
      judge: role.prefault({ heat: 0.2, limits: { most: 3 }, headers: { a: 'b' } }),
    });
    const given = (...sets: string[]) => checkSettings(job, sets.map(parseSetting)).judge;
    const headers = { a: 'b' };
    expect(given()).toEqual({ heat: 0.2, size: 8, limits: { most: 3, least: 0 }, headers });
    expect(given('judge.size=2')).toEqual({
      heat: 0.2,
      size: 2,
      limits: { most: 3, least: 0 },
      headers,
    });
    expect(given('judge={"limits":{"least":1}}')).toMatchObject({
      heat: 0.2,
      limits: { most: 3, least: 1 },
    });
    expect(given('judge.headers={"c":"d"}')).toMatchObject({ headers: { c: 'd' } });
  });

  it('override those that a run began with', () => {
    const began = { ...check('lr=2', 'loss.clip=0.5') };
    const now = checkSettings(schema, [parseSetting('loss.kind=ppo')], began);
    expect(now).toMatchObject({ lr: 2, loss: { clip: 0.5, kind: 'ppo' } });
    expect(began).toMatchObject({ loss: { kind: 'grpo' } });
  });

  it('name the path of what is wrong, what was given, and what is allowed', () => {
    expect(() => check('lr=-1', 'loss.kind=dpo')).toThrow(
      /lr: .*\(given: -1\)\n {2}loss\.kind: .*\(given: dpo\)\nsettings of this job: lr, name, sigmas, loss\.clip, loss\.kind/,
    );
  });

  it('name an unknown key and the one that was probably meant', () => {
    expect(() => check('loss.cilp=1')).toThrow(
      /loss\.cilp: no such setting; did you mean loss\.clip\?/,
    );
    expect(() => check('zzzzzz=1')).toThrow(/zzzzzz: no such setting\n/);
  });

  it('suggest the nearest names, and not every name of a job that has many', () => {
    const many = z.object({
      ...Object.fromEntries(
        Array.from({ length: 70 }, (_, i) => [`other${i}`, z.number().default(1)]),
      ),
      rounds: z.number().default(3),
      flywheel: z.object({ rounds: z.number().default(1) }).prefault({}),
    });
    const wrong = (): unknown => checkSettings(many, [parseSetting('rond=1')]);
    expect(wrong).toThrow(/rond: no such setting; did you mean rounds or flywheel\.rounds\?/);
    expect(wrong).toThrow(/the job has 72 settings; .* use --show-settings/);
    expect(wrong).not.toThrow(/other1/);
  });

  it.each(['lr', '=3', 'a..b=1', '__proto__.x=1'])('refuse %j, which is no key=value', (given) => {
    expect(() => parseSetting(given)).toThrow(/--set takes key=value/);
  });

  it('are listed by dotted key with what they are about', () => {
    expect(knownSettings(schema)).toEqual([
      { key: 'lr', about: 'learning rate' },
      { key: 'name', about: '' },
      { key: 'sigmas', about: '' },
      { key: 'loss.clip', about: '' },
      { key: 'loss.kind', about: '' },
    ]);
  });

  it('keep what they are about if a job gives them another default', () => {
    const again = z.object({ lr: z.number().describe('learning rate').default(1).default(2) });
    expect(knownSettings(again)).toEqual([{ key: 'lr', about: 'learning rate' }]);
  });
});

describe('the nearest name', () => {
  it.each([
    ['rolouts', 'rollouts'],
    ['rollotus', 'rollouts'],
    ['Metrics', 'metrics'],
    ['weather', null],
    ['x', null],
  ])('to %s is %s', (given, expected) => {
    expect(nearest(given, ['questions', 'rollouts', 'metrics', 'weights'])).toBe(expected);
  });
});

it('the nearest names are few, the nearest first', () => {
  const names = ['keepVersions', 'keep', 'keepAll', 'kept', 'explore', 'key'];
  expect(nearestNames('kepe', names)).toEqual(['keep', 'kept']);
  expect(nearestNames('Versions', names)).toEqual(['keepVersions']);
  expect(nearestNames('keep', ['keep1', 'keep2', 'keep3', 'keep4'])).toHaveLength(3);
});
