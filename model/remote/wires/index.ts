/** Wires of inference servers. */
export { type ServerName, serverNames, serverWires, textServers, usualServer } from './wires.ts';
