/** The log on Kafka; loaded only by runs that use it. */
export { copyRun } from './copyRun.ts';
