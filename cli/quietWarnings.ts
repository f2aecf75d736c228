/**
 * Hides warnings that no user can act on; Node shows all others as usual. kafkajs sets timers for times in
 * the past, which Node 22 and later warn about.
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
 * lmdb also prints the errors that it rejects with, including stacks. The code that they end reports them
 * once.
 */
export function quietLmdb(console: Pick<Console, 'error'>): void {
  const shown = console.error.bind(console);
  console.error = (...said: unknown[]) => {
    const [error] = said;
    if (error instanceof Error && /[\\/]node_modules[\\/]lmdb[\\/]/.test(error.stack ?? '')) return;
    shown(...said);
  };
}
