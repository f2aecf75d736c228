/** What the page says of a run, view by view. */
export { RunView, type Viewed } from './runView.ts';
