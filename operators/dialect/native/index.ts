/** The function calling of stock models. */
export type { ChatSegment, ChatTurn, NativeChat } from './chat.ts';
export { type NativeForm, nativeForms, piecesOf } from './forms.ts';
export { nativeDialect } from './nativeDialect.ts';
export { argumentsFor, functionOf, onlyText, specOf, type ToolSpec } from './toolCalls.ts';
