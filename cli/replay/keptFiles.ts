/** Files that a run keeps of what its policy is told, put where a replay of it looks for them. */
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../../base/systemError.ts';
import { MCP_FILE } from '../../jobs/parts/mcpTools.ts';
import { PROMPT_FILE } from '../../jobs/parts/promptRecord.ts';
import { takeMark } from '../foreign.ts';

/** What is not there, or is in `to` already, is left as it is. */
export async function takeKeptFiles(from: string, to: string): Promise<void> {
  for (const file of [MCP_FILE, PROMPT_FILE]) {
    await copyFile(join(from, file), join(to, file)).catch((error: unknown) => {
      if (systemCode(error) !== 'ENOENT') throw error;
    });
  }
  await takeMark(from, to);
}
