/** Environments of OpenEnv servers as tools. */
export {
  actionForms,
  type EnvironmentAction,
  environmentAction,
  environmentActions,
} from './actions.ts';
export { type EnvironmentTools, environmentTools } from './environmentTools.ts';
export { EnvironmentSessions } from './sessions.ts';
