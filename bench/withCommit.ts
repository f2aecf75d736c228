/** A log with a different commit, for benchmarks that time commits or get killed in them. */
import type { Log } from '../streams/log.ts';

export function withCommit(log: Log, commit: Log['commit']): Log {
  return new Proxy(log, {
    get(target, key) {
      if (key === 'commit') return commit;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
