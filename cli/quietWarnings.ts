/**
 * Warnings that no user can act on are not shown; all others are, as Node shows them. kafkajs asks for a
 * timer that should have gone off long ago, which Node 22 and later remark on.
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

/**
 * lmdb prints the errors that it rejects with, too, with their stacks. They are said once, by whom they end.
 */
export function quietLmdb(console: Pick<Console, 'error'>): void {
  const shown = console.error.bind(console);
  console.error = (...said: unknown[]) => {
    const [error] = said;
    if (error instanceof Error && /[\\/]node_modules[\\/]lmdb[\\/]/.test(error.stack ?? '')) return;
    shown(...said);
  };
}
