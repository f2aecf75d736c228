// The Python side of the sandbox, as text. It runs once, before the state is kept that every call starts
// from: it takes pyodide's own modules away, imports what programs often use (a call starts with it
// loaded) and leaves one function, `_millrace`, which takes itself away when it is called.
//
// A program runs in `__main__`, as under `python -c` (how is told in programPython.ts, whose text comes with
// the settings). What it prints is its output. An error is reported by one write to the error stream that
// begins with a zero byte; nothing else that is written there is kept.

const COMMON = [
  'abc argparse array base64 binascii bisect calendar cmath collections collections.abc contextlib copy',
  'csv dataclasses datetime decimal enum fractions functools hashlib heapq io itertools json math',
  'numbers operator os pprint queue random re statistics string struct sys textwrap time traceback',
  'types typing unicodedata uuid',
]
  .join(' ')
  .split(' ');

/** Names of the folders and modules that lead to JavaScript, to C or to other processes. */
const WITHHELD = ['js', 'pyodide', 'pyodide_js', '_pyodide', '_pyodide_core', 'ctypes', '_ctypes'];

/**
 * @param {{ programPython: string, printNone: boolean, textMax: number }} settings what runs a program; print
 * a last value that
 *   is None as well; most code points of an error's line
 */
export function harness(settings) {
  return `${settings.programPython}
import asyncio, builtins, gc, importlib, io, os, random, sys, time
from asyncio import base_events, events

for name in ${JSON.stringify(COMMON)}:
    importlib.import_module(name)


class Selector:
    """Waits for time only: there is nothing else to wait for in here."""

    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError('the event loop waits for something that never happens')
        if timeout > 0:
            time.sleep(timeout)
        return []


class Loop(base_events.BaseEventLoop):
    """An event loop without sockets."""

    def __init__(self):
        super().__init__()
        self._selector = Selector()

    def _process_events(self, ready):
        pass

    def _write_to_self(self):
        pass


class Policy(events._BaseDefaultEventLoopPolicy):
    _loop_factory = Loop


def purge():
    withheld = ${JSON.stringify(WITHHELD)}
    for name in list(sys.modules):
        if name.partition('.')[0] in withheld:
            del sys.modules[name]
    for name in withheld:
        sys.modules[name] = None
    native = lambda finder: finder.__module__.startswith('_frozen_importlib')
    sys.meta_path[:] = [finder for finder in sys.meta_path if native(finder)]
    sys.path_importer_cache.clear()
    sys.path[:] = [path for path in sys.path if path.endswith('.zip')]
    sys.excepthook = sys.__excepthook__
    sys.displayhook = sys.__displayhook__
    sys.argv = ['-c']
    asyncio.run = asyncio.run.__wrapped__
    time.sleep = time.sleep.__wrapped__
    events._set_running_loop(None)
    events._event_loop_policy = Policy()
    kept = ['__name__', '__doc__', '__package__', '__loader__', '__spec__', '__builtins__']
    main = vars(sys.modules['__main__'])
    for name in [name for name in main if name not in kept]:
        del main[name]


def streams():
    out = open(1, 'w', encoding='utf-8', closefd=False)
    error = open(2, 'w', encoding='utf-8', errors='backslashreplace', closefd=False)
    sys.stdout = sys.__stdout__ = out
    sys.stderr = sys.__stderr__ = error
    return out


def start(print_none, text_max):
    main = sys.modules['__main__']
    out = streams()
    write = os.write

    def run(source):
        del main._millrace
        failure = run_program(source, vars(main), print_none, text_max)
        try:
            if not out.closed:
                out.flush()
        except BaseException as error:
            failure = failure or message(error, text_max)
        if failure is not None:
            write(2, b'\\0' + failure)

    return run


purge()
sys.modules['__main__']._millrace = start(${settings.printNone ? 'True' : 'False'}, ${settings.textMax})
random.seed(0)
gc.collect()
gc.freeze()
`;
}
