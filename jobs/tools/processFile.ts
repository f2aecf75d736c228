/** `process_file`: the text of a file that the question names. */
import { sleepClock } from '../../base/index.ts';
import { fileTool } from '../../operators/tools/files/index.ts';
import { pageParser } from '../../operators/tools/pages/index.ts';
import { attachmentsOf } from './attachmentsOf.ts';
import { defineTool } from './toolKind.ts';

export const processFile = defineTool({
  async open(context) {
    const { characters: charactersMax, timeoutMs, memoryMaxMiB } = context.settings.tools.files;
    const read = await attachmentsOf(context);
    const clock = sleepClock(context.clock);
    const parser = pageParser({ clock, timeoutMs, heapMegabytesMax: memoryMaxMiB });
    return fileTool({ read, parser, charactersMax });
  },
});
