/** The source by its setting: taken from, stopped, and gone on with from its cursor. */
import { endlessForms, endlessFrom, namesEndless } from '../../../sources/endless/fromSetting.ts';
import { impatientClock } from '../../support/impatientClock.ts';

const setting = 'every:60:What is 1 + 1?=2';

async function take(count: number, from: string | null): Promise<readonly unknown[]> {
  const stop = new AbortController();
  const options = { clock: impatientClock(), env: {}, print: () => undefined };
  const opened = await endlessFrom(setting, options).open({
    cursor: async () => from,
    signal: stop.signal,
  });
  const taken: unknown[] = [];
  for await (const item of opened as AsyncIterable<object>) {
    const { value, at } = item as { value: { id: string; question: string }; at: unknown };
    taken.push({ question: value.question, number: value.id.split('@')[1], at });
    if (taken.length === count) break;
  }
  return taken;
}

export default async function run(): Promise<unknown> {
  const named = namesEndless(setting) && endlessForms.includes('every:SECONDS');
  return { named, taken: [...(await take(2, null)), ...(await take(1, '2'))] };
}
