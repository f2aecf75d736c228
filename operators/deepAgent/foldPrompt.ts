/**
 * The message that a policy begins again with after a fold: the first one with its memories before the line
 * that the task's instructions end in (DeepAgent §2.4). Memories replace each other; they never add up.
 *
 * `reference` puts them before every place where the anchor phrase occurs, in the question too. Repaired,
 * they are where the template has its own anchor.
 */
import type { EpisodeMode } from './episode.ts';
import type { Memories } from './memories.ts';

/** The first message, and where in it memories belong. */
export interface FirstMessage {
  readonly text: string;
  /** The line before which memories go begins with this. */
  readonly anchor: string;
  /** Where the template's own anchor begins. */
  readonly at: number;
}

const HEADING = 'What you remember of your work so far:';

/** The message with these memories. */
export function foldPrompt(
  { text, anchor, at }: FirstMessage,
  memories: Memories,
  mode: EpisodeMode,
): string {
  const block = `${memoryBlock(memories)}\n\n`;
  if (mode === 'reference') return text.split(anchor).join(`${block}${anchor}`);
  return `${text.slice(0, at)}${block}${text.slice(at)}`;
}

/** The three memories under their headings. */
export function memoryBlock({ episodic, working, tool }: Memories): string {
  return [
    HEADING,
    `Episode Memory:\n${episodic}`,
    `Working Memory:\n${working}`,
    `Tool Memory:\n${tool}`,
  ].join('\n\n');
}
