/** Questions that keep coming: files that grow, HTTP, Kafka. */
export { repeatsAre } from './arrival.ts';
export { type EndlessQuestions, endlessQuestions, isEndless } from './endlessQuestions.ts';
export { endlessForms, endlessFrom, namesEndless } from './fromSetting.ts';
