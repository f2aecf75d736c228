/** Exporters that a command line chooses. */
export { exporters } from './exporters.ts';
