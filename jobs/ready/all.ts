/** The ready jobs by the names of their files. */
export { aepoJob as aepo } from './aepo.ts';
export { agentJob as agent } from './agent.ts';
export { arpoJob as arpo } from './arpo.ts';
export { coldStartJob as coldStart } from './coldStart.ts';
export { deepAgentJob as deepAgent } from './deepAgent.ts';
export { etAgentJob as etAgent } from './etAgent.ts';
export { sftJob as sft } from './sft.ts';
export { toolLightJob as toolLight } from './toolLight.ts';
export { toolStarJob as toolStar } from './toolStar.ts';
