/** The content type of a file, by its name: its bytes decide whether it is anything other than text. */
export function contentTypeOf(name: string): string {
  return /\.x?html?$/i.test(name) ? 'text/html' : 'text/plain';
}
