/**
 * Hides warnings that no user can act on; all others are shown as Node shows them. kafkajs requests a timer
 * that should have fired long ago, which Node 22 and later warn about.
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
 * lmdb prints the errors that it rejects with, too, with their stacks. They are reported once, by the code
 * that they end.
 */
export function quietLmdb(console: Pick<Console, 'error'>): void {
  const shown = console.error.bind(console);
  console.error = (...said: unknown[]) => {
    const [error] = said;
    if (error instanceof Error && /[\\/]node_modules[\\/]lmdb[\\/]/.test(error.stack ?? '')) return;
    shown(...said);
  };
}
