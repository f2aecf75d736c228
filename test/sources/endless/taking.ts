/** Taking items of an endless source by hand, and going on after them as a resumed run does. */
import type { EndlessQuestions } from '../../../sources/endless/endlessQuestions.ts';
import type { QuestionRow } from '../../../sources/questionRow.ts';
import type { ResumableItem } from '../../../streams/resumable.ts';
import { pulled } from '../../../streams/run/sourceRunner.ts';

export class Taking {
  readonly #source: () => EndlessQuestions;
  readonly cursors = new Map<string, string>();
  #stop = new AbortController();
  #items: AsyncIterator<ResumableItem<QuestionRow>> | null = null;

  constructor(source: () => EndlessQuestions) {
    this.#source = source;
  }

  /** The next `count` records: ids of questions, and `origin:place` of dead letters. */
  async take(count: number): Promise<string[]> {
    this.#items ??= pulled(
      await this.#source().open({
        cursor: async (part) => this.cursors.get(part) ?? null,
        signal: this.#stop.signal,
      }),
    );
    const taken: string[] = [];
    while (taken.length < count) {
      const { value: item, done } = await this.#items.next();
      if (done === true) throw new Error('the source ended');
      for (const [part, cursor] of Object.entries(item.at)) this.cursors.set(part, cursor);
      item.committed?.();
      if ('value' in item) taken.push(item.value.id);
      else if ('deadLetter' in item) {
        const { origin, place } = item.deadLetter;
        taken.push(`${origin.slice(origin.lastIndexOf('/') + 1)}:${place}`);
      }
    }
    return taken;
  }

  /** As when the process is killed: what comes next is opened after the last cursors. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#stop = new AbortController();
    const items = this.#items;
    this.#items = null;
    await items?.return?.();
  }
}
