/** Old records moved out of a log: segments in folders and object stores. */
export { archiveAddress, isAddress } from './objectStore.ts';
