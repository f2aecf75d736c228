/** A log in memory, for worlds that are simulated. */
export { MemoryStore } from './memoryStore.ts';
export { openMemoryLog } from './openMemoryLog.ts';
