/** What several tools use. */
import { resolve } from 'node:path';
import { serverAddress } from '../../base/http/index.ts';
import { sleepClock } from '../../base/index.ts';
import { configuredTextModel, samplingOf } from '../../model/text/index.ts';
import {
  type AskOnce,
  askOnce,
  defaultCachePath,
  openToolCache,
} from '../../operators/tools/cache/index.ts';
import { pageReader, readerService, webPages } from '../../operators/tools/pages/index.ts';
import { type Summariser, summariser } from '../../operators/tools/web/index.ts';
import { keyOf } from './keyOf.ts';
import type { Shared, ToolContext } from './toolKind.ts';

/** Opened when the first tool needs it; the job's context owns it. */
export function sharedBy(context: ToolContext): Shared {
  const { settings, clock: time, own, replay } = context;
  const { tools } = settings;
  const clock = sleepClock(time);
  const cache = lazily(() => {
    // A replay answers from its record.
    if (tools.cache === 'none' || replay !== undefined) return null;
    const path = tools.cache === '' ? defaultCachePath() : resolve(tools.cache);
    return own(openToolCache({ path, clock, daysMax: tools.cacheDays }));
  });
  const once = lazily(() => askOnce(cache()));
  const read = lazily(() => {
    const { characters: charactersMax, url, provider, keyEnv, ...rest } = tools.pages;
    const source =
      provider === 'web'
        ? webPages({ clock, ...rest })
        : readerService({
            ...{ clock, ...rest, key: keyOf(context, keyEnv, 'the reader service’s') },
            ...(url === ''
              ? {}
              : { url: serverAddress(url, { what: 'a reader service', suffix: '/' }) }),
          });
    return pageReader({ source: own(source), once: once(), charactersMax });
  });
  return { clock, cache, once, read, summariser: lazily(() => summariserOf(context, once())) };
}

function summariserOf(
  { settings, seed, clock, own, print }: ToolContext,
  once: AskOnce,
): Summariser | null {
  const given = settings.tools.summariser;
  if (given.url === '') return null;
  const model = own(
    configuredTextModel(given, { own: neverAsked, clock: sleepClock(clock), report: print }),
  );
  const sampling = samplingOf(given);
  const { server, api, model: name } = given;
  return summariser({
    ask: ({ prompt, draws }, signal) =>
      model.complete({ ...sampling, prompt, draws: [seed, ...draws] }, signal),
    scope: JSON.stringify([server, api, name, sampling]),
    once,
  });
}

/** Only a model on a server gets here. */
function neverAsked(): never {
  throw new Error('the summariser needs a url');
}

/** Makes it on first use. */
function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
