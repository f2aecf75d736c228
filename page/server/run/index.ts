/** What the page says about a run, view by view. */
export { RunView, type Viewed } from './runView.ts';
