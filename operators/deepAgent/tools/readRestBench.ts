/**
 * RestBench's specifications (`tmdb_oas.json`, `spotify_oas.json`: OpenAPI 3) as functions, one an endpoint;
 * its parameters and the fields of its body are the function's.
 */
import { z } from 'zod';
import type { ToolDoc } from '../../../base/functions/index.ts';
import { endpointFunction } from '../../text/endpointFunction.ts';

const schema = z.looseObject({ type: z.string().optional(), description: z.string().optional() });
const parameter = z.looseObject({
  name: z.string(),
  description: z.string().optional(),
  required: z.boolean().default(false),
  schema: schema.optional(),
});
const operation = z.looseObject({
  summary: z.string().default(''),
  description: z.string().default(''),
  parameters: z.array(z.looseObject({})).default([]),
  requestBody: z
    .looseObject({
      content: z.record(z.string(), z.looseObject({ schema: z.looseObject({}).optional() })),
    })
    .optional(),
});
const body = z.looseObject({
  properties: z.record(z.string(), schema).default({}),
  required: z.array(z.string()).default([]),
});
const specification = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
});

const METHODS = ['get', 'post', 'put', 'delete', 'patch'];

/** `wrong` makes the error of a field. */
export function readRestBench(
  given: unknown,
  wrong: (field: string, reason: string) => Error,
): readonly ToolDoc[] {
  const spec = specification.safeParse(given);
  if (!spec.success) throw wrong('paths', 'is missing: this is not an OpenAPI specification');
  return Object.entries(spec.data.paths).flatMap(([path, methods]) =>
    METHODS.flatMap((method) => {
      if (methods[method] === undefined) return [];
      const read = operation.safeParse(methods[method]);
      if (!read.success) {
        const [issue] = read.error.issues;
        throw wrong(`paths.${path}.${method}.${issue!.path.join('.')}`, issue!.message);
      }
      const shared = Array.isArray(methods.parameters) ? methods.parameters : [];
      return [functionOf(`${method.toUpperCase()} ${path}`, read.data, shared)];
    }),
  );
}

function functionOf(
  endpoint: string,
  { summary, description, parameters, requestBody }: z.infer<typeof operation>,
  shared: readonly unknown[],
): ToolDoc {
  const named = [...shared, ...parameters].flatMap((one) => {
    const read = parameter.safeParse(one);
    return read.success ? [read.data] : [];
  });
  const fields = body.safeParse(Object.values(requestBody?.content ?? {})[0]?.schema ?? {});
  const { properties, required } = fields.success ? fields.data : { properties: {}, required: [] };
  const all = {
    ...Object.fromEntries(
      named.map(({ name, description: about = '', schema: { type = 'string' } = {} }) => [
        name,
        { type, description: about },
      ]),
    ),
    ...Object.fromEntries(
      Object.entries(properties).map(([name, { type = 'string', description: about = '' }]) => [
        name,
        { type, description: about },
      ]),
    ),
  };
  const needed = named.filter((one) => one.required).map(({ name }) => name);
  return {
    name: endpointFunction(endpoint),
    description: [endpoint, summary, description].filter((part) => part !== '').join('. '),
    parameters: {
      type: 'object',
      properties: all,
      required: [...new Set([...needed, ...required.filter((name) => name in all)])],
    },
  };
}
