/** The environment that settings choose. */
export { checkWithoutHelp, checkWorld, ENVIRONMENT_FILE, environmentOf } from './environmentOf.ts';
export { type EnvironmentSettings, environmentSetting } from './settings.ts';
