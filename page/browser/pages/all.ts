/** What the browser draws for each view of a run: one line per view. */
export { Happened as happened } from './Happened.tsx';
export { Metrics as metrics } from './Metrics.tsx';
export { Overview as overview } from './Overview.tsx';
export { Pareto as pareto } from './Pareto.tsx';
export { Question as question } from './Question.tsx';
export { Replay as replay } from './Replay.tsx';
export { Results as results } from './Results.tsx';
export { Rollouts as rollouts } from './Rollouts.tsx';
export { Topics as topics } from './Topics.tsx';
export { Trajectory as trajectory } from './Trajectory.tsx';
export { Weights as weights } from './Weights.tsx';
