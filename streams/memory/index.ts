/** A log in memory, for simulated worlds. */
export { MemoryStore } from './memoryStore.ts';
export { openMemoryLog } from './openMemoryLog.ts';
