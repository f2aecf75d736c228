/** The kind of a file that is not read as text: by its first bytes and, for audio and video, by its name. */

/** A picture with its media type, or audio or video; null = anything else. */
export type Media =
  | { readonly kind: 'image'; readonly type: string }
  | { readonly kind: 'audio or video' };

type Is = (start: string) => boolean;

const begins =
  (...marks: readonly string[]): Is =>
  (start) =>
    marks.some((mark) => start.startsWith(mark));
/** A container that says after four bytes what is in it. */
const holds =
  (container: string, ...marks: readonly string[]): Is =>
  (start) =>
    start.startsWith(container) && marks.includes(start.slice(8, 12));

const PICTURES: readonly (readonly [string, Is])[] = [
  ['image/png', begins('\x89PNG\r\n\x1a\n')],
  ['image/jpeg', begins('\xff\xd8\xff')],
  ['image/gif', begins('GIF87a', 'GIF89a')],
  ['image/webp', holds('RIFF', 'WEBP')],
  ['image/bmp', (start) => start.startsWith('BM') && start.slice(6, 10) === '\0\0\0\0'],
];
const SOUNDS: readonly Is[] = [
  begins('OggS\0', 'fLaC\0', 'ID3\x02', 'ID3\x03', 'ID3\x04', '\xff\xfb', '\xff\xf3', '\xff\xf1'),
  holds('RIFF', 'WAVE', 'AVI '),
  (start) => start.slice(4, 8) === 'ftyp',
];
const SOUND_NAME = /\.(?:mp3|m4a|wav|ogg|flac|aac|mp4|m4v|mov|avi|mkv|webm)$/i;

export function mediaOf(name: string, bytes: Uint8Array): Media | null {
  const start = Buffer.from(bytes.subarray(0, 16)).toString('latin1');
  const picture = PICTURES.find(([, is]) => is(start));
  if (picture !== undefined) return { kind: 'image', type: picture[0] };
  const isSound = SOUND_NAME.test(name) || SOUNDS.some((is) => is(start));
  return isSound ? { kind: 'audio or video' } : null;
}
