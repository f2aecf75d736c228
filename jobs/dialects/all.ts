/** The dialects by the names that the setting `dialect` gives them. */
export { native } from './native.ts';
export { tags } from './tags.ts';
