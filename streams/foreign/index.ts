/**
 * Kafka clusters of other teams, and addresses of Kafka: kafkajs and a schema registry, loaded when they are
 * used.
 */
export { type ForeignTopic, foreignKafka, foreignTopic, wholeProducer } from './foreignTopic.ts';
export { HttpRegistry } from './httpRegistry.ts';
export {
  type Environment,
  environmentFor,
  hostsIn,
  isKafkaUrl,
  type KafkaSettings,
  kafkaSettings,
  shownAddress,
} from './kafkaUrl.ts';
export { type SchemaRegistry, seal, unseal } from './wireFormat.ts';
