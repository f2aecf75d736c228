/** The kinds of servers that settings can choose. */
import type { ServerWire } from '../serverWire.ts';
import * as all from './all.ts';

/** `vllm`, `sglang` … */
export type ServerName = keyof typeof all;
/** By the name of the setting. */
export const serverWires: Readonly<Record<ServerName, ServerWire>> = all;
/** Their names. */
export const serverNames = Object.keys(all) as readonly ServerName[];
/** The server if none is named. */
export const usualServer: ServerName = 'vllm';
/** Those whose extensions of the OpenAI protocol are known. */
export const textServers = serverNames.filter((name) => serverWires[name].text !== undefined);
