/** `millrace model add-tags`: a checkpoint whose tags are tokens of their own. */
import { resolve } from 'node:path';
import { jsonText } from '../../base/terminal/index.ts';
import { thousands } from '../../base/text/index.ts';
import { addTokens } from '../../model/hf/index.ts';
import { exitCodes, usageError } from '../failure.ts';
import type { Io } from '../io.ts';
import { parameterCount } from './writePolicy.ts';

export interface AddTagsOptions {
  readonly from: string;
  readonly to: string;
  /** Names with commas. */
  readonly tags: string;
  readonly json?: boolean;
}

export async function addTagsCommand(options: AddTagsOptions, io: Io): Promise<number> {
  const names = options.tags.split(',').map((name) => name.trim());
  const odd = names.find((name) => !/^[\w-]+$/.test(name));
  if (odd !== undefined) {
    throw usageError(`--tags ${options.tags}: ${JSON.stringify(odd)} is not a valid tag`);
  }
  const texts = names.flatMap((name) => [`<${name}>`, `</${name}>`]);
  const path = resolve(io.cwd, options.to);
  const { saved, config, added } = await addTokens(resolve(io.cwd, options.from), path, texts);
  const { sha256, bytes } = saved;
  const parameters = parameterCount(config);
  const text =
    options.json === true
      ? jsonText({ path, added, config, parameters, bytes, sha256 })
      : [
          `wrote ${path}: ${thousands(parameters)} parameters, a vocabulary of ${thousands(config.vocabSize)}`,
          added.length === 0
            ? 'all of these tags were already tokens'
            : `new tokens: ${added.map(({ text: tag, id }) => `${tag} ${id}`).join(', ')}`,
          `sha256 ${sha256}`,
        ].join('\n');
  await io.out(`${text}\n`);
  return exitCodes.done;
}
