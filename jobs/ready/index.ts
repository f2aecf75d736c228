/** Ready jobs and presets. */
export { aepoJob } from './aepo.ts';
export { arpoJob } from './arpo.ts';
export { deepAgentJob } from './deepAgent.ts';
export { etAgentJob } from './etAgent.ts';
export { sftJob } from './sft.ts';
export { toolLightJob } from './toolLight.ts';
export { toolStarJob } from './toolStar.ts';
