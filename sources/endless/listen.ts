/**
 * `listen:8080`, a web service with POST /questions; `listen:HOST:PORT` for addresses other than 127.0.0.1.
 */
import { MillraceError } from '../../base/index.ts';
import type { EndlessKind } from './endlessKind.ts';
import { questionServer } from './questionServer.ts';

const PREFIX = 'listen:';

export const listen: EndlessKind = {
  form: 'listen:PORT',
  names: (setting) => setting.startsWith(PREFIX),
  open(setting, options) {
    const place = setting.slice(PREFIX.length);
    const match = /^(?:(\[[0-9a-fA-F:.]+\]|[^:]+):)?(\d{1,5})$/.exec(place);
    const port = Number(match?.[2]);
    if (match === null || port > 65_535) {
      throw new MillraceError(
        'USAGE',
        `listen:${place} is neither a port nor host:port; write, for example, listen:8080`,
      );
    }
    return questionServer({
      ...options,
      host: match[1] ?? '127.0.0.1',
      port,
      token: options.env.MILLRACE_QUESTIONS_TOKEN?.trim() ?? '',
      listening: (url) => options.print(`accepting questions at ${url}`),
    });
  },
};
