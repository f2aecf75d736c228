/** The function calling of stock models. */
export { type NativeForm, piecesOf } from './forms/forms.ts';
export { nativeChat } from './nativeChat.ts';
export { nativeDialect } from './nativeDialect.ts';
export { onlyText, specOf } from './toolCalls.ts';
