/** API keys for the services of a job's tools. */
import { apiKey } from '../../base/http/index.ts';
import type { Replay } from '../defineJob.ts';

/** A replay makes no requests, so it needs no key. Otherwise as `apiKey`. */
export function keyOf(
  { replay }: { readonly replay?: Replay },
  name: string,
  whose: string,
): string {
  if (replay !== undefined && (process.env[name] ?? '') === '') return '';
  return apiKey(name, whose);
}
