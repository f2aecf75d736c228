/**
 * Checks that a function's parameters are a JSON schema of an object: every keyword that should hold schemas
 * holds schemas. Unknown keywords may hold anything.
 */
import { type Fields, fieldsAt, invalid, listAt, quoted, textAt } from './reading.ts';

/** No tool nests deeper. */
const DEPTH_MAX = 64;

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];
const ONE = ['not', 'if', 'then', 'else', 'additionalProperties', 'propertyNames', 'contains'];
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const NAMED = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];

/** If an agent gives none, the function has no parameters. */
export function parametersAt(value: unknown, at: string): Fields {
  if (value === undefined || value === null) return { type: 'object', properties: {} };
  const schema = fieldsAt(value, at);
  mustBeShallow(schema, at, 0);
  check(schema, at);
  if (schema.type !== undefined && schema.type !== 'object') {
    throw invalid(`${at}.type`, 'must be "object": a function takes named arguments');
  }
  return schema;
}

function check(schema: Fields, at: string): void {
  checkType(schema.type, `${at}.type`);
  for (const key of ONE) checkOne(schema[key], `${at}.${key}`);
  for (const key of LISTS) checkList(schema[key], `${at}.${key}`);
  for (const key of NAMED) {
    if (schema[key] === undefined) continue;
    const named = fieldsAt(schema[key], `${at}.${key}`);
    for (const [name, one] of Object.entries(named)) checkOne(one, `${at}.${key}.${quoted(name)}`);
  }
  if (Array.isArray(schema.items)) checkList(schema.items, `${at}.items`);
  else checkOne(schema.items, `${at}.items`);
  if (schema.enum !== undefined) listAt(schema.enum, `${at}.enum`);
  if (schema.required === undefined) return;
  for (const [i, one] of listAt(schema.required, `${at}.required`).entries()) {
    textAt(one, `${at}.required[${i}]`);
  }
}

function checkOne(value: unknown, at: string): void {
  if (value === undefined || typeof value === 'boolean') return;
  check(fieldsAt(value, at), at);
}

function checkList(value: unknown, at: string): void {
  if (value === undefined) return;
  for (const [i, one] of listAt(value, at).entries()) checkOne(one, `${at}[${i}]`);
}

function checkType(value: unknown, at: string): void {
  if (value === undefined) return;
  for (const one of Array.isArray(value) ? value : [value]) {
    if (!TYPES.includes(one)) {
      throw invalid(at, `is ${quoted(one)}, which is not a JSON Schema type`);
    }
  }
}

/** Refuses nesting so deep that it could not be serialized again. */
export function mustBeShallow(value: unknown, at: string, depth = 0): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth > DEPTH_MAX) throw invalid(at, `is nested deeper than ${DEPTH_MAX} levels`);
  for (const one of Object.values(value)) mustBeShallow(one, at, depth + 1);
}
