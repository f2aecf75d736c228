/** The page of topics, from their schemas: what each holds, its key and the fields of its records. */
import { topics } from '../../topics/index.ts';
import { sentence, table } from './table.ts';

/** An Avro schema, as far as it is shown. */
interface Schema {
  readonly type: unknown;
  readonly name?: string;
  readonly items?: unknown;
  readonly values?: unknown;
  readonly symbols?: readonly string[];
  readonly fields?: readonly { readonly name: string; readonly type: unknown }[];
  readonly logicalType?: string;
}

export function topicsPage(): string {
  const sections = Object.values(topics)
    .sort((a, b) => a.name.localeCompare(b.name))
    .map((topic) => {
      const { fields = [] } = topic.codec.schema as Schema;
      const rows = fields.map(({ name, type }) => [`\`${name}\``, `\`${typeOf(type)}\``]);
      return `## ${topic.name}\n\n${sentence(topic.about)}\n\nKey: ${topic.keyName}. Contract version ${topic.version}.\n\n${table(['field', 'type'], rows)}`;
    });
  return [
    '# Topics',
    'The topics of a run and the fields of their records, made from their contracts. `millrace tap RUN.TOPIC` prints them ([tap](../taps.md)).',
    ...sections,
  ].join('\n\n');
}

function typeOf(type: unknown): string {
  if (typeof type === 'string') return type;
  if (Array.isArray(type)) return type.map(typeOf).join(' or ');
  const { type: kind, name, items, values, symbols, fields } = type as Schema;
  if (kind === 'array') return `${typeOf(items)}[]`;
  if (kind === 'map') return `map of ${typeOf(values)}`;
  if (kind === 'enum') return (symbols ?? []).join(' or ');
  if (kind === 'record') return `${name} { ${(fields ?? []).map((one) => one.name).join(', ')} }`;
  return typeOf(kind);
}
