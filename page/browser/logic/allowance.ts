/**
 * What a worker may send a tab before the tab has taken it. A tab that the browser has put to sleep takes
 * nothing, and what is sent to it would wait in memory for as long as it sleeps: beyond `most` messages
 * nothing more is sent, and once the tab has taken all of them it learns that it missed some, and reads
 * again. Pure.
 */
import type { Heard } from './hub.ts';

export interface Allowance {
  tell(heard: Heard): void;
  /** The tab has taken one. */
  took(): void;
}

export function allowance(send: (heard: Heard) => void, most = 200): Allowance {
  let ahead = 0;
  let missed = false;
  const put = (heard: Heard): void => {
    ahead++;
    send(heard);
  };
  return {
    tell(heard) {
      if (missed || ahead >= most) missed = true;
      else put(heard);
    },
    took() {
      ahead = Math.max(0, ahead - 1);
      if (!missed || ahead > 0) return;
      missed = false;
      put({ kind: 'missed' });
    },
  };
}
