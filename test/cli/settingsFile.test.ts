/**
 * Settings files: what they set, over what, and how their faults are reported; and `--show-settings`, which
 * they read back.
 */
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { checkSettings, parseSetting, settingsOf } from '../../cli/settings.ts';
import { parseSettings } from '../../cli/settingsFile.ts';
import { showSettings } from '../../cli/showSettings.ts';

const schema = z.object({
  policy: z.string().min(1, 'is required: a folder').prefault(''),
  lr: z.number().positive().default(0.1).describe('learning rate'),
  sigmas: z.array(z.number()).default([1, 2]),
  on: z.boolean().default(true),
  engine: z.object({ urls: z.string().default(''), rows: z.number().default(8) }).prefault({}),
  sampling: z.object({ temperature: z.number().default(1) }).optional(),
});
const fromFile = (text: string) => parseSettings(text, 'my.yaml', schema);
const check = (text: string, ...sets: string[]) =>
  checkSettings(schema, [...fromFile(text), ...sets.map(parseSetting)]);

describe('a settings file', () => {
  test('sets what it names, in YAML or JSON, with groups or dotted keys', () => {
    const yaml = 'policy: qwen\nlr: 1e-6\nengine:\n  urls: http://a\nengine.rows: 3\n';
    const json = '{"policy": "qwen", "lr": 1e-6, "engine": {"urls": "http://a", "rows": 3}}';
    expect(check(yaml)).toEqual(check(json));
    expect(check(yaml)).toMatchObject({ lr: 1e-6, engine: { urls: 'http://a', rows: 3 } });
  });

  test('overrides a preset and is overridden by --set, key by key', () => {
    const preset = settingsOf(
      schema,
      { lr: 1, engine: { urls: 'http://p', rows: 2 } },
      () => 'preset p',
    );
    const given = [
      ...preset,
      ...fromFile('policy: qwen\nengine:\n  rows: 3\n'),
      ...['sigmas=[5]', 'engine={"urls":"http://s"}'].map(parseSetting),
    ];
    expect(checkSettings(schema, given)).toEqual({
      policy: 'qwen',
      lr: 1,
      sigmas: [5],
      on: true,
      engine: { urls: 'http://s', rows: 3 },
    });
  });

  test.each<[string, RegExp]>([
    ['policy: q\n\nlr: fast\n', /lr: .*number.* \(my\.yaml:3, given: "fast"\)/],
    ['policy: q\nengine:\n  rows: many\n', /engine\.rows: .* \(my\.yaml:3, given: "many"\)/],
    [
      'policy: q\nengine:\n  row: 3\n',
      /engine\.row: no such setting; did you mean engine\.rows\? \(my\.yaml:3\)/,
    ],
    ['policy: q\nurls: x\n', /urls: no such setting; did you mean engine\.urls\?/],
    ['policy: q\nlr: 1\nlr: 2\n', /my\.yaml:3: not valid YAML: .*unique/],
    ['policy: q\nlr: &x [1, *x]\n', /my\.yaml:2: an alias refers to a collection that contains it/],
    ['policy: &x {a: {b: *x}}\n', /my\.yaml:1: an alias refers to a collection that contains it/],
    ['policy: "q\n', /my\.yaml:\d: not valid YAML/],
    ['- policy\n', /my\.yaml:1: a settings file consists of key: value lines/],
    ['policy: q\n__proto__:\n  x: 1\n', /my\.yaml:2: __proto__.* is not a setting/],
    ['lr: 1\n', /policy: is required: a folder/],
  ])('is refused with its line and field: %j', (text, message) => {
    expect(() => check(text)).toThrow(message);
    expect({}).not.toHaveProperty('x');
  });

  test('may be empty', () => {
    expect(fromFile('')).toEqual([]);
    expect(fromFile('# nothing\n')).toEqual([]);
  });
});

describe('settings that are shown', () => {
  const given = [
    ...settingsOf(schema, { lr: 0.5 }, () => 'preset p'),
    ...fromFile('policy: q\nengine:\n  urls: http://a:1,http://b\n'),
    ...['on=false', 'sampling.temperature=0.5'].map(parseSetting),
  ];

  test.each(['yaml', 'json'] as const)('as %s are read back as what they were', (as) => {
    const text = showSettings(schema, given, { title: 'settings', as });
    expect(check(text)).toEqual(checkSettings(schema, given));
  });

  test('say where each value comes from', () => {
    const text = showSettings(schema, given, { title: 'settings', as: 'yaml' });
    expect(text).toMatch(/^lr: 0\.5 +# preset p · default: 0\.1 · learning rate$/m);
    expect(text).toMatch(/^policy: q +# my\.yaml:1$/m);
    expect(text).toMatch(/^ {2}urls: "http:\/\/a:1,http:\/\/b" +# my\.yaml:3 · default: ""$/m);
    expect(text).toMatch(/^ {2}rows: 8 +# default$/m);
    expect(text).toMatch(/^on: false +# --set · default: true$/m);
  });

  test('fit the width, say what a value may be, and make what was changed stand out', () => {
    const long = z.object({
      loss: z.enum(['clipped', 'gspo']).default('clipped').describe('loss on rollouts'),
    });
    const show = (sets: readonly string[], colour: boolean) =>
      showSettings(long, sets.map(parseSetting), { title: 't', as: 'yaml', columns: 60, colour });
    expect(show([], false).split('\n').slice(1)).toEqual([
      'loss: clipped  # default · loss on rollouts · one of',
      '               # clipped, gspo',
      '',
    ]);
    expect(show([], true)).not.toContain('\u001b[1m');
    expect(show(['loss=gspo'], true)).toContain('\u001b[1mloss: gspo\u001b[22m');
    const read = parseSettings(show(['loss=gspo'], false), 'my.yaml', long);
    expect(checkSettings(long, read)).toEqual({ loss: 'gspo' });
  });

  test('have what is needed and not given as a comment', () => {
    const text = showSettings(schema, [], { title: 'settings', as: 'yaml' });
    expect(text).toMatch(/^# policy:/m);
    expect(text).toMatch(/^lr: 0\.1 /m);
    expect(() => check(text)).toThrow(/policy: is required/);
  });

  test('are refused when one that was given is wrong', () => {
    const wrong = [parseSetting('lr=-1')];
    expect(() => showSettings(schema, wrong, { title: '', as: 'yaml' })).toThrow(/lr: .*-1/);
  });
});
