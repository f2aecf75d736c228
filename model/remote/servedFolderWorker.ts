/**
 * Entry of the thread that writes what servers load (servedFolders.ts): tensors are read, narrowed and hashed
 * here, away from the event loop.
 */
import { chmod, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serve, unfinished } from '../../base/index.ts';
import { digestAt } from '../checkpoints/digest.ts';
import { readAdapter, writeAdapter } from '../hf/adapterFiles.ts';
import { digestError } from '../hf/digestError.ts';
import { ADAPTER_CONFIG, CONFIG_FILE } from '../hf/folderFiles.ts';
import { openPolicy } from '../hf/loadPolicy.ts';
import { checkAdapter, type LoraAdapter, merged } from '../hf/lora.ts';
import { loadAdapterFile } from '../hf/publishedAdapter.ts';
import { writeFolder } from '../hf/writeFolder.ts';
import type { WriteArgument, WriteResult } from './servedFolders.ts';

/** Beside the weights: what they were made from, and their digest. */
const RECORD = 'millrace.json';

interface FolderRecord {
  /** Digest of the checkpoint; null if it has none, and then the folder is written again. */
  readonly of: string | null;
  /** Of the folder (`digestAt`). */
  readonly digest: string;
}

serve({ write });

async function write(argument: WriteArgument): Promise<WriteResult> {
  const { weights, as, place } = argument;
  const { uri, digest } = weights;
  if (digest !== null) {
    const found = await digestAt(uri);
    if (found !== digest) throw digestError(uri, digest, found);
  }
  const adapter = await adapterAt(uri);
  if (as === 'adapter' && adapter === null) return 'base';
  if (digest !== null && (await isWhole(place, digest))) return 'there';
  // A folder left by a killed process, or of weights without a digest.
  await rm(place, { recursive: true, force: true });
  const beside = unfinished(place);
  try {
    const written = await (as === 'adapter' && adapter !== null
      ? writeServedAdapter(beside, adapter, argument)
      : writeServedPolicy(beside, adapter, argument));
    await check(beside, written, as === 'adapter');
    const record: FolderRecord = { of: digest, digest: written };
    await writeFile(join(beside, RECORD), `${JSON.stringify(record)}\n`);
    await readableByServers(beside);
    await rename(beside, place);
    return 'written';
  } catch (error) {
    await rm(beside, { recursive: true, force: true });
    throw error;
  }
}

/** The adapter there, in our single file or in PEFT's folder; null = a whole policy. */
async function adapterAt(uri: string): Promise<LoraAdapter | null> {
  if (!(await stat(uri)).isDirectory()) return loadAdapterFile(uri);
  const isThere = (name: string) =>
    stat(join(uri, name)).then(
      () => true,
      () => false,
    );
  return (await isThere(ADAPTER_CONFIG)) && !(await isThere(CONFIG_FILE)) ? readAdapter(uri) : null;
}

async function writeServedAdapter(
  place: string,
  adapter: LoraAdapter,
  { base }: WriteArgument,
): Promise<string> {
  return (await writeAdapter(place, { ...adapter, base: base ?? adapter.base })).sha256;
}

/** A whole policy; an adapter is merged into its own. */
async function writeServedPolicy(
  place: string,
  adapter: LoraAdapter | null,
  { weights, like, dtype }: WriteArgument,
): Promise<string> {
  const path = adapter === null ? weights.uri : adapter.base;
  const policy = await openPolicy(path);
  try {
    if (adapter !== null) checkAdapter(adapter, policy.config, weights.uri);
    const source = adapter === null ? policy : merged(policy, adapter);
    const carried = policy.kind === 'folder' ? { like: path } : await carriedFrom(like);
    return (await writeFolder(place, policy.config, source, { dtype, ...carried })).sha256;
  } finally {
    await policy.close();
  }
}

/**
 * What `writeFolder` takes from the first policy's folder: everything, or of one without a configuration the
 * tokenizer.
 */
async function carriedFrom(like: string | null): Promise<{ like?: string; tokenizer?: string }> {
  if (like === null) return {};
  const names = await readdir(like).catch((): string[] => []);
  if (names.includes(CONFIG_FILE)) return { like };
  return names.includes('tokenizer.json') ? { tokenizer: like } : {};
}

/** Reads back what was written: headers, and every byte for the digest. */
async function check(place: string, digest: string, isAdapter: boolean): Promise<void> {
  if (isAdapter) await readAdapter(place);
  else await (await openPolicy(place)).close();
  const found = await digestAt(place);
  if (found !== digest) throw digestError(place, digest, found);
}

/** A server may run as another user, and a run's files are readable by their owner only. */
async function readableByServers(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
  }
  await chmod(folder, 0o755);
}

/** Whether an unchanged folder made from these weights exists. */
async function isWhole(place: string, of: string): Promise<boolean> {
  const text = await readFile(join(place, RECORD), 'utf8').catch(() => null);
  if (text === null) return false;
  try {
    const record = JSON.parse(text) as FolderRecord;
    return record.of === of && record.digest === (await digestAt(place));
  } catch {
    return false;
  }
}
