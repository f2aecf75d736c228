/**
 * The token of a server's link: it must be impossible to compute, and so is the one draw that no seed
 * repeats.
 */
import { randomBytes } from 'node:crypto';

/** The environment variable that may hold it. */
export const TOKEN_VARIABLE = 'MILLRACE_VIEW_TOKEN';

export function newToken(): string {
  return randomBytes(24).toString('base64url');
}
