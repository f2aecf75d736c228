/** `kafka://host:9092/topic`: a topic that other systems write. */
import { isKafkaUrl } from '../../streams/foreign/index.ts';
import type { EndlessKind } from './endlessKind.ts';
import { kafkaQuestions } from './kafkaQuestions.ts';

export const kafka: EndlessKind = {
  form: 'kafka://host:port/topic',
  names: isKafkaUrl,
  open: kafkaQuestions,
};
