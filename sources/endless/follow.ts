/** `follow:my.jsonl`, a file of JSON Lines that grows; `follow:inbox/`, a folder in which files appear. */
import { statSync } from 'node:fs';
import { MillraceError } from '../../base/index.ts';
import type { EndlessKind } from './endlessKind.ts';
import { followFile } from './followFile.ts';
import { followFolder } from './followFolder.ts';

const PREFIX = 'follow:';

export const follow: EndlessKind = {
  form: 'follow:FILE.jsonl, follow:FOLDER/',
  names: (setting) => setting.startsWith(PREFIX),
  open(setting, options) {
    const path = setting.slice(PREFIX.length);
    if (path === '')
      throw new MillraceError('USAGE', 'follow: needs a file or a folder, such as follow:my.jsonl');
    const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    return isFolder || path.endsWith('/') ? followFolder(path, options) : followFile(path, options);
  },
};
