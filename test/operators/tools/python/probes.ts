/**
 * Ways out of the Python sandbox, one a line: each program prints `ESCAPED` when it has got out. In the
 * programs, `HOST_FILE` is a file of the host with the text `classified`, `HOST_FOLDER` its folder, `PORT` a
 * port of 127.0.0.1 that listens. `control` marks those that succeed in a plain pyodide in Node.
 */
export interface Probe {
  readonly name: string;
  readonly program: string;
  readonly control: boolean;
}

/** Forgets the blockers, so that an import is tried for real. */
const FORGET = [
  'import sys, importlib',
  'for name in ["js", "pyodide", "pyodide_js", "_pyodide", "_pyodide_core", "ctypes", "_ctypes"]:',
  '    if sys.modules.get(name, 0) is None: del sys.modules[name]',
].join('\n');

const PROCESS = 'pyodide_js.constructor.constructor("return process")()';

function probe(name: string, program: string, control = false): Probe {
  return { name, program, control };
}

function forgetful(name: string, program: string, control = false): Probe {
  return probe(name, `${FORGET}\n${program}`, control);
}

export const PROBES: readonly Probe[] = [
  // JavaScript, by its modules
  forgetful('imports js', 'import js\nprint("ESCAPED", js.process)'),
  forgetful('imports pyodide_js', 'import pyodide_js\nprint("ESCAPED")', true),
  forgetful(
    'makes a function of a string',
    `import pyodide_js\nprint("ESCAPED", ${PROCESS}.pid)`,
    true,
  ),
  forgetful(
    'takes a module of the host',
    `import pyodide_js\n${PROCESS}.getBuiltinModule("fs")\nprint("ESCAPED")`,
    true,
  ),
  forgetful(
    'reads a host file by the loader of packages',
    'import pyodide_js\nprint("ESCAPED", pyodide_js._api.loadBinaryFile("HOST_FILE"))',
    true,
  ),
  forgetful(
    'mounts a host folder',
    'import pyodide_js, os\nos.makedirs("/mnt/host")\npyodide_js.mountNodeFS("/mnt/host", "HOST_FOLDER")\nprint("ESCAPED", os.listdir("/mnt/host"))',
    true,
  ),
  forgetful(
    'mounts with NODEFS',
    'import pyodide_js, os\nfrom pyodide.ffi import to_js\nfs = pyodide_js.FS\nos.makedirs("/mnt/nodefs")\nfs.mount(fs.filesystems.NODEFS, to_js({"root": "HOST_FOLDER"}, dict_converter=pyodide_js._module.constructor.fromEntries), "/mnt/nodefs")\nprint("ESCAPED", os.listdir("/mnt/nodefs"))',
    true,
  ),
  forgetful(
    'runs JavaScript',
    'import pyodide.code\nprint("ESCAPED", pyodide.code.run_js("6 * 7"))',
  ),
  forgetful(
    'turns JavaScript strings into code by the core',
    'import _pyodide_core\nprint("ESCAPED", _pyodide_core.raw_call)\n_pyodide_core.create_proxy(print)\nprint("ESCAPED 2")',
  ),
  forgetful(
    'makes a proxy',
    'from pyodide.ffi import create_proxy\nassert create_proxy(print) is not print\nprint("ESCAPED")',
    true,
  ),
  forgetful(
    'converts a value to JavaScript',
    'from pyodide.ffi import to_js\nassert type(to_js([1])) is not list\nprint("ESCAPED")',
    true,
  ),
  forgetful(
    'fetches by pyodide',
    'import pyodide.http\npyodide.http.open_url("http://127.0.0.1:PORT/")\nprint("ESCAPED")',
  ),
  forgetful(
    'imports the core by the import function',
    'core = __import__("_pyodide_core")\ncore.to_js([1])\nprint("ESCAPED")',
  ),
  forgetful(
    'imports the core by its spec',
    'spec = importlib.machinery.BuiltinImporter.find_spec("_pyodide_core")\ncore = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(core)\ncore.to_js([1])\nprint("ESCAPED")',
  ),
  forgetful(
    'triggers the fatal error of the core',
    'import _pyodide_core\n_pyodide_core.trigger_fatal_error()\nprint("ESCAPED")',
  ),
  // JavaScript, by objects that lie about
  probe(
    'finds a JavaScript object on the heap',
    [
      'import gc',
      'gc.unfreeze()',
      'found = [o for o in gc.get_objects() if type(o).__name__.startswith(("Js", "pyodide.ffi.Js"))]',
      'found += [v for o in gc.get_objects() if type(o) is dict for v in list(o.values()) if "Js" in type(v).__name__ and not isinstance(v, type)]',
      'for o in found:',
      '    try:',
      '        print("ESCAPED", dir(o)[:3], o.constructor)',
      '    except (AttributeError, TypeError, ValueError): pass',
    ].join('\n'),
    true,
  ),
  probe(
    'finds a module of pyodide on the heap',
    [
      'import gc, types',
      'gc.unfreeze()',
      'for o in gc.get_objects():',
      '    if isinstance(o, types.ModuleType) and o.__name__ in ("pyodide.code", "pyodide_js", "js"):',
      '        getattr(o, "run_js", None) and print("ESCAPED", o.run_js("6 * 7"))',
    ].join('\n'),
  ),
  probe(
    'goes by the subclasses of object',
    [
      'def all_of(c):',
      '    for s in type.__subclasses__(c):',
      '        yield s',
      '        yield from all_of(s)',
      'for c in list(all_of(object)):',
      '    if c.__name__ in ("Popen", "Js2PyConverter"):',
      '        c(["/bin/sh"])',
      '        print("ESCAPED")',
    ].join('\n'),
  ),
  probe(
    'walks the frames',
    'import sys\nframe = sys._getframe()\nwhile frame:\n    for value in list(frame.f_locals.values()) + list(frame.f_globals.values()):\n        if "JsProxy" in type(value).__name__: print("ESCAPED", value.constructor)\n    frame = frame.f_back',
  ),
  // C
  forgetful(
    'calls C by ctypes',
    'import ctypes\nlibrary = ctypes.CDLL(None)\nprint("ESCAPED", library.getpid())',
    true,
  ),
  forgetful(
    'runs JavaScript by ctypes',
    'import ctypes\nctypes.CDLL(None).emscripten_run_script(b"process.exitCode = 7")\nprint("ESCAPED")',
  ),
  forgetful(
    'reads memory by ctypes',
    'import ctypes\nctypes.string_at(1024, 8)\nprint("ESCAPED")',
    true,
  ),
  probe(
    'loads a library',
    'open("/tmp/x.so", "wb").write(b"\\0asm\\1\\0\\0\\0")\nimport importlib.machinery as m\nm.ExtensionFileLoader("x", "/tmp/x.so").create_module(m.ModuleSpec("x", None, origin="/tmp/x.so"))\nprint("ESCAPED")',
  ),
  probe(
    'writes beyond an object by forged bytecode',
    'code = (lambda: None).__code__\nbad = code.replace(co_code=bytes([100, 255, 83, 0] * 4), co_consts=())\nexec(bad)\nprint("done")',
  ),
  // processes
  probe('runs a command', 'import os\nassert os.system("true") == 0\nprint("ESCAPED")'),
  probe('starts a process', 'import subprocess\nprint("ESCAPED", subprocess.check_output(["id"]))'),
  probe('forks', 'import os\nwhile True: os.fork()'),
  probe(
    'forks by its C name',
    'import _posixsubprocess\n_posixsubprocess.fork_exec([b"x"], [b"/bin/true"], True, (), None, None, -1, -1, -1, -1, -1, -1, -1, -1, True, False, -1, None, None, None, -1, None)\nprint("ESCAPED")',
  ),
  probe('spawns', 'import os\nos.posix_spawn("/bin/true", ["true"], {})\nprint("ESCAPED")'),
  probe('becomes another program', 'import os\nos.execv("/bin/true", ["true"])\nprint("ESCAPED")'),
  probe(
    'starts a thread',
    'import threading\nt = threading.Thread(target=print)\nt.start()\nprint("ESCAPED")',
  ),
  probe(
    'starts a pool',
    'import multiprocessing\nprint("ESCAPED", multiprocessing.Pool(2).map(abs, [1]))',
  ),
  probe(
    'signals the host',
    'import os, signal\nos.kill(1, signal.SIGTERM)\nos.kill(os.getppid(), signal.SIGKILL)\nprint("done")',
  ),
  probe('leaves at once', 'import os\nos._exit(0)\nprint("ESCAPED")'),
  probe('aborts', 'import os\nos.abort()\nprint("ESCAPED")'),
  probe(
    'sets an alarm',
    'import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\nprint("ESCAPED")',
  ),
  // network
  probe(
    'connects',
    'import socket\ns = socket.socket()\ns.connect(("127.0.0.1", PORT))\ns.send(b"x")\nprint("ESCAPED")',
    true,
  ),
  probe(
    'connects by name',
    'import socket\nsocket.create_connection(("localhost", PORT)).send(b"x")\nprint("ESCAPED")',
  ),
  probe(
    'sends a datagram',
    'import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.sendto(b"x", ("127.0.0.1", PORT))\nprint("ESCAPED")',
  ),
  probe(
    'listens',
    'import socket\ns = socket.socket()\ns.bind(("127.0.0.1", 0))\ns.listen()\nprint("ESCAPED")',
  ),
  probe(
    'opens a URL',
    'import urllib.request\nprint("ESCAPED", urllib.request.urlopen("http://127.0.0.1:PORT/").read())',
  ),
  probe(
    'speaks http',
    'import http.client\nc = http.client.HTTPConnection("127.0.0.1", PORT)\nc.request("GET", "/")\nprint("ESCAPED")',
  ),
  probe('asks for a name', 'import socket\nprint("ESCAPED", socket.gethostbyname("localhost"))'),
  // the host's files and settings
  probe('reads a host file', 'print("ESCAPED", open("HOST_FILE").read())'),
  probe('reads the passwords', 'print("ESCAPED", open("/etc/passwd").read())'),
  probe('reads its process', 'print("ESCAPED", open("/proc/self/environ").read())'),
  probe('lists the host', 'import os\nassert "etc" in os.listdir("/")\nprint("ESCAPED")'),
  probe(
    'sees the environment',
    'import os\nassert any("PROBE_SECRET" in k for k in os.environ)\nprint("ESCAPED")',
  ),
  probe('writes a host file', 'open("HOST_FILE", "w").write("x")\nprint("ESCAPED")'),
  probe(
    'writes into the standard library',
    'open("/lib/python314.zip", "r+b", buffering=0).write(b"x")\nprint("ESCAPED")',
  ),
  probe(
    'replaces the standard library',
    'import os\nopen("/tmp/z", "w").close()\nos.rename("/tmp/z", "/lib/python314.zip")\nprint("ESCAPED")',
  ),
  probe('removes a device', 'import os\nos.unlink("/dev/null")\nprint("ESCAPED")', true),
  probe('makes a file in the root', 'open("/x", "w").close()\nprint("ESCAPED")', true),
  // the answer
  probe(
    'answers on the channel',
    'import os\nfor fd in range(3, 200):\n    try:\n        os.write(fd, b\'{"id":0,"kind":"done","text":"ESCAPED","reusable":true}\\n\')\n        print("ESCAPED")\n    except OSError: pass',
  ),
  forgetful('sends on the channel', `import pyodide_js\n${PROCESS}.send("x")\nprint("ESCAPED")`),
  probe(
    'fills the files',
    'block = b"x" * 2**20\nwith open("/tmp/big", "wb") as f:\n    for i in range(100): f.write(block)\nprint("ESCAPED")',
    true,
  ),
  probe(
    'makes too many files',
    'import os\nfor i in range(5000): open(f"/tmp/{i}", "w").close()\nprint("ESCAPED")',
    true,
  ),
  probe(
    'takes all memory',
    'x = []\nwhile len(x) < 600: x.append(bytearray(2**20))\nprint("ESCAPED")',
    true,
  ),
  probe('takes all memory at once', 'x = bytearray(2**30)\nprint("ESCAPED")', true),
];

/** Programs that never end by themselves; `expired` is how each must. */
export const ENDLESS: readonly string[] = [
  'while True: pass',
  'while True:\n    try:\n        while True: pass\n    except BaseException: pass',
  'import time\ntime.sleep(1e6)',
  'while True: print("x" * 1000)',
  'import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass',
  'import re\nre.match(r"(a+)+$", "a" * 60 + "b")',
  '10 ** 10 ** 9',
  'import itertools\nsum(itertools.repeat(1))',
  'import sys\nsys.stdout = sys.stderr\nwhile True: print("x" * 1000)',
  'class Sticky:\n    def __del__(self): Sticky()\nSticky()\nwhile True: Sticky()',
];
