/** Text encoders for retrieval. */
export type { EncoderSettings, OpenEncoder, TextEncoder } from './encoder.ts';
export { openEncoder } from './openEncoder.ts';
