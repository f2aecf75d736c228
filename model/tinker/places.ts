/** Places in a training service, as in manifests: `tinker://MODEL/weights/NAME`. */
import { MillraceError } from '../../base/index.ts';

/** Fails with code `CHECKPOINT_KIND` if a place is not in a training service. */
export function servicePlace(uri: string, version: number): string {
  if (uri.startsWith('tinker://')) return uri;
  throw new MillraceError(
    'CHECKPOINT_KIND',
    `policy version ${version} is at '${uri}', which is not in a training service: only the kind of trainer that wrote it can read it`,
    { context: { uri, version } },
  );
}
