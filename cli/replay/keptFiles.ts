/** Copies the files that record a run's prompt to where a replay of it looks for them. */
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../../base/index.ts';
import { ENVIRONMENT_FILE } from '../../jobs/environment/index.ts';
import { PROMPT_FILE } from '../../jobs/parts/index.ts';
import { MCP_FILE } from '../../jobs/tools/index.ts';
import { takeMark } from '../foreign.ts';

/** Skips files that do not exist, or already exist in `to`. */
export async function takeKeptFiles(from: string, to: string): Promise<void> {
  for (const file of [ENVIRONMENT_FILE, MCP_FILE, PROMPT_FILE]) {
    await copyFile(join(from, file), join(to, file)).catch((error: unknown) => {
      if (systemCode(error) !== 'ENOENT') throw error;
    });
  }
  await takeMark(from, to);
}
