/**
 * A pure-Python wheel as one archive that the interpreter imports from: its modules are compiled (sympy then
 * loads in a fifth of the time) and its tests left out. Runs in a thread (compileWorker.ts), as sympy takes
 * seconds.
 */
import {
  MillraceError,
  messageOf,
  outsideText,
  startWorker,
  workerEntry,
} from '../../../../base/index.ts';

/** Makes archives of wheels; one interpreter makes all of them. */
export interface Compiler {
  /** The same wheel gives the same bytes. Rejects with code `PACKAGE`. */
  archive(name: string, wheel: Uint8Array): Promise<Uint8Array>;
  close(): Promise<void>;
}

export function packageCompiler(): Compiler {
  const worker = startWorker(workerEntry('compileWorker', import.meta.url));
  return {
    async archive(name, wheel) {
      try {
        return await worker.call<Uint8Array>('archive', wheel);
      } catch (error) {
        // the last line of a Python error says what it is
        const why = outsideText(messageOf(error).trim().split('\n').at(-1) ?? '');
        throw new MillraceError('PACKAGE', `${name} cannot be compiled: ${why}`, { cause: error });
      }
    },
    close: () => worker.close(),
  };
}
