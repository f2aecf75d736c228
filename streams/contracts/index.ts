/** What a topic's records look like: Avro schemas made of shapes, and their evolution. */
export { anyTopic } from './anyTopic.ts';
export { avroCodec } from './codec.ts';
export { defineTopic, type TopicSpec } from './defineTopic.ts';
export { foreignReader } from './foreignAvro.ts';
export * as shapes from './shapes.ts';
export {
  choice,
  flag,
  float32s,
  formerly,
  int32s,
  list,
  map,
  named,
  nullable,
  real,
  record,
  text,
  type ValueOf,
  whole,
  withDefault,
} from './shapes.ts';
