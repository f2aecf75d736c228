/**
 * What the setting `questions` may say besides a file that is read through:
 *
 *     follow:my.jsonl               a file of JSON Lines that grows
 *     follow:inbox/                 a folder in which files appear
 *     listen:8080                   a web service, POST /questions; listen:HOST:PORT elsewhere than on 127.0.0.1
 *     kafka://host:9092/topic       a topic that others write
 */
import { statSync } from 'node:fs';
import { MillraceError, type SleepClock } from '../../base/index.ts';
import { type Environment, isKafkaUrl } from '../../streams/foreign/index.ts';
import type { ArrivalRules } from './arrival.ts';
import type { EndlessQuestions } from './endlessQuestions.ts';
import { followFile } from './followFile.ts';
import { followFolder } from './followFolder.ts';
import { kafkaQuestions } from './kafkaQuestions.ts';
import { questionServer } from './questionServer.ts';

export interface FromSettingOptions extends ArrivalRules {
  readonly clock: SleepClock;
  readonly env: Environment;
  readonly print: (line: string) => void;
}

const FOLLOW = 'follow:';
const LISTEN = 'listen:';

/** Whether the setting names questions without an end. */
export function namesEndless(setting: string): boolean {
  return isKafkaUrl(setting) || setting.startsWith(FOLLOW) || setting.startsWith(LISTEN);
}

/**
 * The questions that the setting names; they are opened when the run takes the first. Fails with `USAGE` or
 * `QUESTIONS_FILE`.
 */
export function endlessFrom(setting: string, options: FromSettingOptions): EndlessQuestions {
  if (isKafkaUrl(setting)) return kafkaQuestions(setting, options);
  if (setting.startsWith(LISTEN)) return listening(setting.slice(LISTEN.length), options);
  const path = setting.slice(FOLLOW.length);
  if (path === '') throw usage('follow: needs a file or a folder, such as follow:my.jsonl');
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder || path.endsWith('/') ? followFolder(path, options) : followFile(path, options);
}

function listening(place: string, options: FromSettingOptions): EndlessQuestions {
  const match = /^(?:(\[[0-9a-fA-F:.]+\]|[^:]+):)?(\d{1,5})$/.exec(place);
  const port = Number(match?.[2]);
  if (match === null || port > 65_535) {
    throw usage(`listen:${place} is neither a port nor host:port; write listen:8080`);
  }
  return questionServer({
    ...options,
    host: match[1] ?? '127.0.0.1',
    port,
    token: options.env.MILLRACE_QUESTIONS_TOKEN?.trim() ?? '',
    listening: (url) => options.print(`accepting questions at ${url}`),
  });
}

function usage(message: string): MillraceError {
  return new MillraceError('USAGE', message);
}
