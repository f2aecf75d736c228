/** ToolPO's reward of calls. */
export type { CallGold, GoldCall } from './callCredit.ts';
export { type CallCredit, type ToolPoOptions, toolPo } from './toolPo.ts';
