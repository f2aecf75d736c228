/** The feeds of a log, by group and topic, and their readers: one at a time. */
import { Observable } from 'rxjs';
import { MillraceError } from '../../base/index.ts';
import type { Delivery } from '../deliveries/delivery.ts';
import type { ReadOptions } from '../log.ts';
import type { Topic } from '../topic.ts';
import { type FeedParts, GroupFeed, groupIdOf } from './groupFeed.ts';
import { GroupReader } from './groupReader.ts';

export class GroupFeeds {
  readonly #feeds = new Map<string, GroupFeed>();
  readonly #active = new Set<string>();
  readonly #parts: FeedParts;

  constructor(parts: FeedParts) {
    this.#parts = parts;
  }

  /** A cold observable; each subscription is a new reader. Fails with `GROUP_BUSY` while another reads. */
  read<T>(topic: Topic<T>, options: ReadOptions): Observable<Delivery<T>> {
    return new Observable((subscriber) => {
      const key = groupIdOf(this.#parts.run, options.group, topic.name);
      if (this.#active.has(key)) {
        subscriber.error(
          new MillraceError(
            'GROUP_BUSY',
            `group ${options.group} already reads ${topic.name}; give the second reader a group of its own`,
          ),
        );
        return;
      }
      const feed = this.#feeds.get(key) ?? new GroupFeed(topic.name, options.group, this.#parts);
      this.#feeds.set(key, feed);
      this.#active.add(key);
      const stop = new GroupReader(feed, topic, options, subscriber).start();
      return () => {
        this.#active.delete(key);
        stop();
      };
    });
  }

  feed(topic: string, group: string): GroupFeed | undefined {
    return this.#feeds.get(groupIdOf(this.#parts.run, group, topic));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#feeds.values()].map((feed) => feed.close()));
  }
}
