/** A run's numbers for Prometheus. */
export { CONTENT_TYPE, Page } from './exposition.ts';
export { processFamilies } from './families.ts';
export { Follower } from './follower.ts';
export { addOwn, addRun, addWorkers } from './runPage.ts';
