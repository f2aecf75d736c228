/** Success in DeepAgent's tasks, from the calls of a rollout or the end of its environment. */
export { taskSuccess, worldSuccess } from './taskScore.ts';
