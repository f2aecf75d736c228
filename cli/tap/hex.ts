/** The bytes of a record for a person's eyes: sixteen a line, as numbers and as letters. */

const A_LINE = 16;

export function hexLines(bytes: Buffer): string[] {
  const lines = Array.from({ length: Math.ceil(bytes.length / A_LINE) }, (_, line) =>
    bytes.subarray(line * A_LINE, (line + 1) * A_LINE),
  );
  return lines.map((line, number) => {
    const at = (number * A_LINE).toString(16).padStart(8, '0');
    const letters = line.toString('latin1').replace(/[^ -~]/g, '.');
    return `${at}  ${inHex(line).padEnd(3 * A_LINE - 1)}  ${letters}`;
  });
}

/** `0a 3c 74` */
export function inHex(bytes: Buffer): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
}
