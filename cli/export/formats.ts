/** What `millrace export --to` takes. */
import { tableFormats } from '../../sinks/tables/index.ts';

/** `ndjson` is another word for `jsonl`; the files end alike. */
export const exportFormats = [...Object.keys(tableFormats), 'ndjson'];
