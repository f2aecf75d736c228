/** The dialects by their names in the setting `dialect`. */
export { native } from './native.ts';
export { tags } from './tags.ts';
