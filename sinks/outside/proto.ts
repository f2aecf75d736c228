/**
 * The few parts of protocol buffers that other programs' files need: fields in sequence, each with its
 * number, kind and value.
 */

/** A whole number from 0 to 2^53 − 1, seven bits a byte, the lowest first. */
export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  return Buffer.from([...bytes, rest]);
}

export function wholeField(number: number, value: number): Buffer {
  return Buffer.concat([varint(number * 8), varint(value)]);
}

export function doubleField(number: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([varint(number * 8 + 1), bytes]);
}

export function floatField(number: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([varint(number * 8 + 5), bytes]);
}

/** Text, bytes, or a message with fields. */
export function bytesField(number: number, value: string | Buffer): Buffer {
  const bytes = Buffer.from(value as Buffer);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

/**
 * The fields of a message by number: whole numbers, and bytes; of several with one number the last. Throws if
 * the bytes are not a message.
 */
export function fieldsOf(message: Buffer): {
  readonly wholes: ReadonlyMap<number, number>;
  readonly bytes: ReadonlyMap<number, Buffer>;
} {
  const wholes = new Map<number, number>();
  const bytes = new Map<number, Buffer>();
  let at = 0;
  const whole = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = message.readUInt8(at++);
      value += (byte % 0x80) * factor;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = whole();
    const kind = tag % 8;
    const number = (tag - kind) / 8;
    if (kind === 0) wholes.set(number, whole());
    else if (kind === 1) at += 8;
    else if (kind === 2) {
      const length = whole();
      bytes.set(number, message.subarray(at, at + length));
      at += length;
    } else if (kind === 5) at += 4;
    else throw new Error(`a field of kind ${kind}`);
  }
  return { wholes, bytes };
}
