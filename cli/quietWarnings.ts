/**
 * Warnings that no user can act on are not shown; all others are, as Node shows them. kafkajs asks for a timer that should have
 * gone off long ago, which Node 22 and later remark on.
 */
import type { EventEmitter } from 'node:events';

const IDLE = new Set(['TimeoutNegativeWarning']);

export function quietWarnings(process: EventEmitter): void {
  const shown = process.listeners('warning');
  process.removeAllListeners('warning');
  process.on('warning', (warning: Error) => {
    if (IDLE.has(warning.name)) return;
    for (const show of shown) show.call(process, warning);
  });
}
