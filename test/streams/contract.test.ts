import { describe, expect, test } from '@jest/globals';
import avro from 'avsc';
import { draws } from '../../base/draws.ts';
import { avroCodec } from '../../streams/contracts/codec.ts';
import { breaches } from '../../streams/contracts/contract.ts';
import { packedLogicalTypes } from '../../streams/contracts/packed.ts';
import type { Shape } from '../../streams/contracts/shapes.ts';
import type { Topic } from '../../streams/topic.ts';
import { topics } from '../../topics/index.ts';
import {
  complaints,
  type Fixture,
  type Frozen,
  fixtureName,
  frozen,
  readFixture,
  sha256,
} from '../support/contracts.ts';
import { samples } from '../support/records.ts';

type Entry = readonly [name: string, type: unknown, over?: object];
const thing = (...fields: readonly Entry[]) => ({
  type: 'record',
  name: 'Thing',
  fields: fields.map(([name, type, over]) => ({ name, type, ...over })),
});
const packed = (logicalType: string) => ({ type: 'bytes', logicalType });
const choice = (...symbols: readonly string[]) => ({ type: 'enum', name: 'Kind', symbols });
const inner = (...fields: readonly Entry[]) => ({ ...thing(...fields), name: 'Inner' });

const typeOf = (schema: unknown): avro.Type =>
  avro.Type.forSchema(schema as avro.Schema, {
    logicalTypes: packedLogicalTypes,
    wrapUnions: 'auto',
    registry: {},
  });

function throws(work: () => unknown): boolean {
  try {
    work();
    return false;
  } catch {
    return true;
  }
}

/** Whether the Avro library reads what `writer` wrote. */
function resolves(writer: unknown, reader: unknown): boolean {
  return !throws(() => typeOf(reader).createResolver(typeOf(writer)));
}

describe('an incompatible change of a contract', () => {
  test.each<[string, unknown, unknown, RegExp]>([
    [
      'a field without a default',
      thing(['a', 'long']),
      thing(['a', 'long'], ['b', 'string']),
      /field b is new and has no default.*withDefault/,
    ],
    [
      'another type',
      thing(['a', 'string']),
      thing(['a', 'long']),
      /field a was string and is long.*add a new field/,
    ],
    [
      'a narrower type',
      thing(['a', 'double']),
      thing(['a', 'long']),
      /field a was double and is long/,
    ],
    [
      'another packing',
      thing(['a', packed('int32-array')]),
      thing(['a', packed('float32-array')]),
      /field a was int32-array and is float32-array/,
    ],
    [
      'a lost word',
      thing(['a', choice('x', 'y', 'z')]),
      thing(['a', choice('x')]),
      /field a lost y, z: older records use them/,
    ],
    ['a lost null', thing(['a', ['null', 'long']]), thing(['a', 'long']), /field a could be null/],
    [
      'another name',
      thing(['a', 'long']),
      { ...thing(['a', 'long']), name: 'Stuff' },
      /the record was a Thing and is a Stuff/,
    ],
    [
      'a field deep inside',
      thing(['a', { type: 'array', items: ['null', inner(['b', 'string'])] }]),
      thing(['a', { type: 'array', items: ['null', inner(['b', 'long'])] }]),
      /field a\[\]\.b was string and is long/,
    ],
    [
      'the values of a map',
      thing(['a', { type: 'map', values: 'string' }]),
      thing(['a', { type: 'map', values: 'long' }]),
      /field a\{\} was string/,
    ],
  ])('is reported by field, with a remedy: %s', (_, older, newer, sentence) => {
    expect(breaches(older, newer).join('\n')).toMatch(sentence);
    expect(resolves(older, newer)).toBe(false);
  });

  test.each<[string, unknown, unknown]>([
    [
      'a field with a default',
      thing(['a', 'long']),
      thing(['a', 'long'], ['b', 'string', { default: '' }]),
    ],
    [
      'a field that is gone',
      thing(['a', 'long'], ['b', packed('int32-array')]),
      thing(['a', 'long']),
    ],
    ['a wider type', thing(['a', 'int']), thing(['a', 'double'])],
    ['a new word', thing(['a', choice('x')]), thing(['a', choice('y', 'x')])],
    ['a null that may be now', thing(['a', 'long']), thing(['a', ['null', 'long']])],
    ['another order', thing(['a', 'long'], ['b', 'string']), thing(['b', 'string'], ['a', 'long'])],
  ])('is not reported for a compatible change: %s', (_, older, newer) => {
    expect(breaches(older, newer)).toEqual([]);
    expect(resolves(older, newer)).toBe(true);
  });
});

/** The schema with one thing in it changed: a field gone, new, of another type or name, a word lost. */
function mutated(schema: unknown, seed: number): unknown {
  const coin = draws('contract', seed);
  const copy = JSON.parse(JSON.stringify(schema)) as object;
  const records: { fields: { name: string; type: unknown }[] }[] = [];
  const choices: { symbols: string[] }[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if ('fields' in node) records.push(node as (typeof records)[number]);
    if ('symbols' in node) choices.push(node as (typeof choices)[number]);
    for (const value of Object.values(node)) visit(value);
  };
  visit(copy);
  const { fields } = records[coin.integer(0, records.length)]!;
  const place = coin.integer(1, fields.length);
  const types = ['string', 'long', 'double', 'boolean', ['null', 'string'], packed('int32-array')];
  const other = types[coin.integer(2, types.length)];
  switch (coin.integer(3, 5)) {
    case 0:
      fields.splice(place, 0, { name: 'added', type: other });
      break;
    case 1:
      fields[place] = { ...fields[place]!, name: 'renamed' };
      break;
    case 2:
      if (isPlain(fields[place]!.type)) fields[place] = { name: fields[place]!.name, type: other };
      break;
    case 3:
      if (isPlain(fields[place]!.type)) fields.splice(place, 1);
      break;
    default:
      choices[coin.integer(4, Math.max(1, choices.length))]?.symbols.shift();
  }
  return copy;
}

/** No definition that others may refer to. */
const isPlain = (type: unknown): boolean => !JSON.stringify(type).includes('"name"');

test('incompatible changes are exactly those that the Avro library cannot resolve', () => {
  let broken = 0;
  for (const topic of Object.values(topics) as unknown as readonly Topic<unknown>[]) {
    for (let seed = 0; seed < 40; seed++) {
      const { schema } = topic.codec;
      const changed = mutated(schema, seed);
      if (throws(() => typeOf(changed))) continue; // a default that is no word of its choice any more
      for (const [older, newer] of [
        [schema, changed],
        [changed, schema],
      ]) {
        const told = breaches(older, newer);
        if (told.length > 0) broken += 1;
        // The library reads packed arrays as any bytes, and text as packed arrays; we do not.
        const stricter = told.length > 0 && told.every((why) => why.includes('-array'));
        const read = !stricter && resolves(older, newer);
        expect({ told, read }).toEqual({ told, read: told.length === 0 });
      }
    }
  }
  expect(broken).toBeGreaterThan(150);
});

test('every frozen version of a topic is read by every later one', () => {
  for (const topic of Object.values(topics)) {
    const schemas = Array.from(
      { length: topic.version },
      (_, i) => readFixture(topic.name, i + 1).schema,
    );
    for (const [i, older] of schemas.entries()) {
      for (const newer of schemas.slice(i)) expect(breaches(older, newer)).toEqual([]);
    }
  }
});

describe('the check of frozen contracts fails', () => {
  const metrics = topics.metrics as Topic<unknown>;
  const full = samples.metrics.full;
  const schema = metrics.codec.schema as { readonly fields: readonly object[] };
  const withSchema = (changed: unknown): Topic<unknown> => ({
    ...metrics,
    codec: avroCodec('metrics', { render: () => changed } as Shape<unknown>),
  });
  const without = (name: string): Frozen => ({
    ...frozen,
    text: (asked) => (asked === name ? null : frozen.text(asked)),
  });
  const now = metrics.version;
  const v1 = fixtureName('metrics', 1);
  const next = fixtureName('metrics', now + 1);

  test('with the unreadable field and a remedy after an incompatible change', () => {
    const fields = [...schema.fields, { name: 'unit', type: 'string' }];
    const said = complaints(withSchema({ ...schema, fields }), { ...full, unit: 's' });
    expect(said).toHaveLength(now + 1);
    for (const [i, unreadable] of said.slice(0, now).entries()) {
      expect(unreadable).toMatch(
        new RegExp(
          `^version ${i + 1}: metrics: .*field unit is new and has no default.*withDefault`,
        ),
      );
    }
    expect(said.at(-1)).toMatch(
      `the schema of metrics is not that of its version ${now}: raise the version to ${now + 1}`,
    );
  });

  test('with the record to freeze if a compatible change has not raised the version', () => {
    const fields = [...schema.fields, { name: 'unit', type: 'string', default: '' }];
    const [told, ...more] = complaints(withSchema({ ...schema, fields }), { ...full, unit: 's' });
    expect(more).toEqual([]);
    const fixture = JSON.parse(told!.slice(told!.indexOf('{'))) as Fixture;
    const raised = { ...withSchema({ ...schema, fields }), version: now + 1 };
    expect(complaints(raised, { ...full, unit: 's' })).toEqual([
      expect.stringMatching(
        `^there is no frozen record of metrics version ${now + 1}; save this as .*${next}`,
      ),
    ]);
    const text = JSON.stringify(fixture);
    const saved: Frozen = {
      text: (name) => (name === next ? text : frozen.text(name)),
      digests: { ...frozen.digests, [next]: sha256(text) },
    };
    expect(complaints(raised, { ...full, unit: 's' }, saved)).toEqual([]);
    expect(complaints(metrics, full, saved)).toEqual([expect.stringMatching(`^${next} is there`)]);
  });

  test('if a frozen record is missing, changed or not listed', () => {
    expect(complaints(metrics, full, without(v1))).toEqual([
      expect.stringMatching(/^there is no frozen record of metrics version 1/),
    ]);
    const edited = { ...frozen, text: (name: string) => `${frozen.text(name)} ` };
    expect(complaints(metrics, full, edited).join()).toMatch(
      /^metrics\.v1\.json was changed, and a frozen record never is/,
    );
    expect(complaints(metrics, full, { ...frozen, digests: {} }).join()).toMatch(
      /not in frozen\.json/,
    );
  });
});
