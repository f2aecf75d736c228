/**
 * What a publisher and a weights receiver say to each other over HTTP:
 *
 * - `POST /versions/LABEL` with the digests of a version's files: where the version is, or what is missing;
 * - `PUT /files/SHA256?from=N&bytes=TOTAL` with the bytes from there on: how many the receiver has now.
 *
 * Files are named by their digests, so what the receiver has of an earlier version is not sent again, and a
 * file that is half there is resumed.
 */
import { z } from 'zod';

const FILES_MAX = 10_000;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.number().int().nonnegative();
/** A name, or one in one folder: it cannot lead elsewhere. */
const fileName = z
  .string()
  .max(200)
  .regex(/^\w[\w.-]*(?:\/\w[\w.-]*)?$/);

/** A version's files by their names. */
export const offer = z.object({
  files: z
    .record(fileName, z.object({ sha256, bytes: count }))
    .refine((files) => Object.keys(files).length <= FILES_MAX, `more than ${FILES_MAX} files`),
});
export type Offer = z.infer<typeof offer>;
export type OfferedFiles = Offer['files'];

export const offerReply = z.union([
  /** The version is complete in this folder, as the model server sees it. */
  z.object({ path: z.string().min(1) }),
  /** Bytes already there of each missing file. */
  z.object({ missing: z.record(sha256, count) }),
]);
export type OfferReply = z.infer<typeof offerReply>;

/** After a piece: how much of the file is there. */
export const pieceReply = z.object({ bytes: count });

/** Of one request. */
export const PIECE_BYTES_MAX = 64 * 1024 * 1024;
