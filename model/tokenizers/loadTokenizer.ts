/**
 * The tokenizer in a folder: our own word vocabulary (wordTokenizer.ts) or that of a Hugging Face checkpoint
 * (checkpointTokenizer.ts). Nothing is fetched; `tokenizer.json` says which kind it is.
 */
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { mustBeOrdinary } from '../hf/ordinaryFiles.ts';
import { readJson } from '../hf/readJson.ts';
import { type WordVocabulary, wordTokenizer } from '../wordTokenizer.ts';
import { type LoadedTokenizer, noTemplate } from './loadedTokenizer.ts';

/**
 * Load from a folder, or from the `tokenizer.json` in one. Rejects with `TOKENIZER`, `CHECKPOINT` or
 * `CHAT_TEMPLATE`.
 */
export async function loadTokenizer(path: string): Promise<LoadedTokenizer> {
  await mustBeOrdinary(path);
  const there = await stat(path).catch(() => null);
  const folder = there?.isFile() ? dirname(path) : path;
  const file = there?.isFile() ? path : join(path, 'tokenizer.json');
  const json = await readJson(file);
  if ((json as Partial<WordVocabulary> | null)?.kind === 'words')
    return ofWords(file, json as WordVocabulary);
  // A vocabulary of words needs no BPE, templates or schemas.
  const { checkpointTokenizer } = await import('../hf/checkpointTokenizer.ts');
  return checkpointTokenizer(folder, file, json);
}

function ofWords(path: string, vocabulary: WordVocabulary): LoadedTokenizer {
  const tokenizer = wordTokenizer(vocabulary);
  return {
    ...tokenizer,
    startToken: null,
    endTokens: [tokenizer.endToken],
    problems: [],
    chat: false,
    encodeParts: (parts) =>
      Int32Array.from(parts.flatMap(({ text, tags }) => [...tokenizer.encode(text, { tags })])),
    applyChatTemplate: () => noTemplate(path),
    chatRuns: () => noTemplate(path),
    encodeChat: () => noTemplate(path),
    chatParts: () => noTemplate(path),
  };
}
