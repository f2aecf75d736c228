/** The kinds of endless sources. */
export { follow } from './follow.ts';
export { kafka } from './kafka.ts';
export { listen } from './listen.ts';
