// The Python side of the sandbox, as text. It runs once, before the state is kept that every call starts
// from: it takes pyodide's own modules away, imports what programs often use (a call starts with it
// loaded) and leaves one function, `_millrace`, which takes itself away when it is called.
//
// A program runs in `__main__`, as under `python -c`. What it prints is its output; the value of a last
// expression is printed too unless it is None (setting `value`). An error is reported by one write to
// the error stream that begins with a zero byte; nothing else that is written there is kept.

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

/** @param {{ printNone: boolean }} settings print a last value that is None as well */
export function harness(settings) {
  return `
import ast, asyncio, builtins, gc, importlib, io, os, random, sys, time, traceback
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


def start(print_none):
    main = sys.modules['__main__']
    out = streams()
    write = os.write

    def shown(tree):
        """The last expression of a program, taken off it; None when there is none to show."""
        if not tree.body or not isinstance(tree.body[-1], ast.Expr):
            return None
        value = tree.body[-1].value
        if isinstance(value, ast.Call) and getattr(value.func, 'id', None) == 'print':
            return None
        tree.body.pop()
        return ast.Expression(value)

    def message(error):
        lines = traceback.TracebackException.from_exception(error).format_exception_only()
        return next((line for line in lines if not line.startswith(' ')), 'Exception')

    def run(source):
        del main._millrace
        try:
            tree = ast.parse(source, '<string>')
            last = shown(tree)
            exec(compile(tree, '<string>', 'exec', dont_inherit=True), vars(main))
            if last is not None:
                value = eval(compile(last, '<string>', 'eval', dont_inherit=True), vars(main))
                if value is not None or print_none:
                    print(value)
        except SystemExit as stop:
            if stop.code is not None and stop.code != 0:
                write(2, b'\\0' + message(stop).encode('utf-8', 'replace'))
        except BaseException as error:
            write(2, b'\\0' + message(error).encode('utf-8', 'replace'))
        out.flush()

    return run


purge()
sys.modules['__main__']._millrace = start(${settings.printNone ? 'True' : 'False'})
random.seed(0)
gc.collect()
gc.freeze()
`;
}
