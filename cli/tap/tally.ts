/** What a tap has seen of each topic, and how fast: the lines of `--stats`. */

import { table } from '../../base/terminal/index.ts';
import type { Stored } from '../../streams/index.ts';
import { size } from '../../summary/format/index.ts';
import type { TopicQueue } from './topicQueue.ts';

interface Count {
  readonly queue: TopicQueue;
  read: number;
  bytes: number;
  shown: number;
  unreadable: number;
  /** When the lines were last made. */
  before: { readonly read: number; readonly bytes: number };
}

const HEAD = ['topic', 'records/s', 'bytes/s', 'read', 'shown', 'behind'];

export class Tally {
  readonly #counts: ReadonlyMap<string, Count>;
  #lastMs: number;

  constructor(queues: readonly TopicQueue[], nowMs: number) {
    this.#counts = new Map(
      queues.map((queue) => {
        const none = { read: 0, bytes: 0 };
        return [queue.topic, { queue, ...none, shown: 0, unreadable: 0, before: none }];
      }),
    );
    this.#lastMs = nowMs;
  }

  read({ topic, bytes }: Stored<unknown>): void {
    const count = this.#counts.get(topic)!;
    count.read += 1;
    count.bytes += bytes;
  }

  shown({ topic }: Stored<unknown>): void {
    this.#counts.get(topic)!.shown += 1;
  }

  unreadable(topic: string): void {
    this.#counts.get(topic)!.unreadable += 1;
  }

  get total(): Readonly<Record<'read' | 'shown' | 'unreadable', number>> {
    const sum = (of: (count: Count) => number): number =>
      [...this.#counts.values()].reduce((all, count) => all + of(count), 0);
    return {
      read: sum(({ read }) => read),
      shown: sum(({ shown }) => shown),
      unreadable: sum(({ unreadable }) => unreadable),
    };
  }

  /** One line per topic: the rates since the last lines, and the counts since the beginning. */
  lines(nowMs: number): string {
    const seconds = Math.max(0.001, (nowMs - this.#lastMs) / 1000);
    this.#lastMs = nowMs;
    const counts = [...this.#counts.values()];
    const known = counts.filter(({ read, queue }) => read > 0 || queue.behind > 0);
    const rows = (known.length > 0 ? known : counts).map((count) => this.#row(count, seconds));
    return table(
      [HEAD, ...rows],
      HEAD.map((_, column) => (column === 0 ? 'left' : 'right')),
    );
  }

  #row(count: Count, seconds: number): string[] {
    const { queue, read, bytes, shown, before } = count;
    count.before = { read, bytes };
    const perSecond = (read - before.read) / seconds;
    return [
      queue.topic,
      perSecond < 10 ? perSecond.toFixed(1) : String(Math.round(perSecond)),
      size((bytes - before.bytes) / seconds),
      ...[read, shown, queue.behind].map(String),
    ];
  }
}
