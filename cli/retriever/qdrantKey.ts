/** Qdrant's API key, from the environment. */
import { apiKey } from '../../base/http/index.ts';

const NAME = 'QDRANT_API_KEY';

/** '' if there is none. */
export function qdrantKey(): string {
  return (process.env[NAME]?.trim() ?? '') === '' ? '' : apiKey(NAME, 'Qdrant’s');
}
