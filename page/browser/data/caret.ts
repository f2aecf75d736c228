/** Which character is under the pointer, by the two ways that browsers offer. */
export function caretAt(
  x: number,
  y: number,
): { readonly node: Node; readonly offset: number } | null {
  const modern = document as Document & {
    caretPositionFromPoint?(x: number, y: number): { offsetNode: Node; offset: number } | null;
    caretRangeFromPoint?(x: number, y: number): Range | null;
  };
  const position = modern.caretPositionFromPoint?.(x, y);
  if (position != null) return { node: position.offsetNode, offset: position.offset };
  const range = modern.caretRangeFromPoint?.(x, y);
  return range == null ? null : { node: range.startContainer, offset: range.startOffset };
}
