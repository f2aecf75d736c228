/** The folder of the questions' files, from its setting. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { MillraceError } from '../../base/index.ts';
import { attachmentsIn, type ReadAttachment } from '../../operators/tools/files/index.ts';
import type { ToolContext } from './toolKind.ts';

/** Fails with `USAGE`. A replay answers from its record: it needs no folder, and may have lost it. */
export async function attachmentsOf({ settings, replay }: ToolContext): Promise<ReadAttachment> {
  const { folder, bytesMax } = settings.tools.files;
  if (replay !== undefined) return attachmentsIn({ folder: resolve(folder), bytesMax });
  if (folder === '') {
    throw new MillraceError(
      'USAGE',
      'process_file and visual_question_answering need the folder of the files that questions name: set tools.files.folder (docs/tools.md)',
    );
  }
  const entry = await stat(folder).catch(() => null);
  if (!entry?.isDirectory()) {
    throw new MillraceError(
      'USAGE',
      `tools.files.folder ${folder} is not a folder (looked for ${resolve(folder)})`,
      { context: { folder } },
    );
  }
  return attachmentsIn({ folder: resolve(folder), bytesMax });
}

/**
 * Where to write images that rows of questions contain: into the same folder. A replay only names them;
 * without a folder such rows are dead letters, as in the run.
 */
export function imagesFolder(
  folder: string,
  { replay }: Pick<ToolContext, 'replay'>,
): string | null | undefined {
  if (folder === '') return undefined;
  return replay === undefined ? resolve(folder) : null;
}
