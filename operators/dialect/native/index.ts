/** The function calling of stock models. */
export { nativeChat } from './nativeChat.ts';
export { nativeDialect } from './nativeDialect.ts';
export { onlyText, specOf } from './toolCalls.ts';
