/**
 * An image that a row holds as a data URI (HLE's do), as a file named by its bytes, so that every reading
 * gives the question the same name.
 */
import { createHash } from 'node:crypto';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { about, unfinished } from '../base/index.ts';
import { FieldFault } from './fieldFault.ts';

/**
 * Folder for images; null = only name them, because nobody will look at them (a replay). Undefined = a row
 * with an image is a dead letter.
 */
export type ImagesFolder = string | null | undefined;

const HEAD = /^data:image\/(png|jpeg|jpg|gif|webp|bmp);base64,/i;
const BASE64 = /^[A-Za-z0-9+/\s]*={0,2}$/;

/**
 * The image's name in the folder. Fails with `FieldFault`, or with the system's reason if it cannot be
 * written.
 */
export function inlineImage(field: string, uri: string, folder: ImagesFolder): string {
  const [head = '', type = ''] = HEAD.exec(uri.slice(0, 40)) ?? [];
  const text = uri.slice(head.length).trimEnd();
  const bytes = head !== '' && BASE64.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
  if (bytes.length === 0) {
    throw new FieldFault(
      field,
      'is a data URI, but not of a PNG, JPEG, GIF, WebP or BMP image in base64',
    );
  }
  if (folder === undefined) {
    const where = 'tools.files.folder, or eval’s --files';
    throw new FieldFault(
      field,
      `is an image as a data URI: name a folder to write it to (${where})`,
    );
  }
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
  const name = `${digest}.${type.toLowerCase().replace('jpeg', 'jpg')}`;
  if (folder !== null) writeOnce(join(folder, name), bytes);
  return name;
}

/** Other processes may be writing the same bytes. */
function writeOnce(path: string, bytes: Uint8Array): void {
  if (existsSync(path)) return;
  const beside = unfinished(path);
  try {
    rmSync(beside, { force: true });
    writeFileSync(beside, bytes, { flag: 'wx', mode: 0o600 });
    renameSync(beside, path);
  } catch (error) {
    throw about(path, error);
  }
}
