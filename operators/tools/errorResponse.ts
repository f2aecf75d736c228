/** Tools that answer with JSON report a failed call in a non-empty field `error`. */

/** Whether a tool's answer is an object with a non-empty field `error`. */
export function isErrorResponse(response: string): boolean {
  if (!response.trimStart().startsWith('{')) return false;
  try {
    const { error } = JSON.parse(response) as { readonly error?: unknown };
    return error !== undefined && error !== null && error !== '' && error !== false;
  } catch {
    return false;
  }
}
