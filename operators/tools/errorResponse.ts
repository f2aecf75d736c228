/** Tools that answer with JSON say so when a call failed: by a field `error` with something in it. */

/** Whether a tool's answer is an object with something in its field `error`. */
export function isErrorResponse(response: string): boolean {
  if (!response.trimStart().startsWith('{')) return false;
  try {
    const { error } = JSON.parse(response) as { readonly error?: unknown };
    return error !== undefined && error !== null && error !== '' && error !== false;
  } catch {
    return false;
  }
}
