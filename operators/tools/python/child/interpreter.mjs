// One Python interpreter that begins every call from the same state, byte for byte.
//
// Python's whole state lies in WebAssembly's linear memory. After start-up that memory is copied; after
// every call the copy is put back (about 2 ms), with the stack pointer and the in-memory files.
// So no call sees another one: not its globals, not a module or a builtin that it patched, not the state
// of `random`; and a call may be unwound at any point, because nothing it leaves behind survives.
//
// The entry points of C are used directly (`PyRun_SimpleString`): no JavaScript object is ever handed to
// Python and none comes back. Output comes through the two output devices, as bytes.

import { readFileSync } from 'node:fs';
import { foreseeableDevices, keepFiles } from './files.mjs';
import { createGate, Expired, Forbidden } from './gate.mjs';
import { harness } from './harness.mjs';
import { closeHost, closeNetwork, lendFileConstants } from './host.mjs';
import { boundGrowth, boundRequests, keepMemory } from './memory.mjs';

const ENVIRONMENT = { HOME: '/home/pyodide', PYTHONHASHSEED: '0', PYTHONDONTWRITEBYTECODE: '1' };
/** Where packages lie in the in-memory file system. */
const PACKAGES = '/lib/python3.14/site-packages';
const FILES_QUOTA = { bytesMax: 32 * 2 ** 20, nodesMax: 1000 };
/** UTF-8 takes at most four bytes a code point. */
const BYTES_PER_CODE_POINT = 4;
/** Programs that are run once at the start, so that their paths are compiled. */
const WARM_UP = [
  'print(47 * 86)',
  'import math\nmath.sqrt(2)',
  '1 / 0',
  'x = [i for i in range(9)]\nx',
];

/** The first `max` code points of a text. */
function firstCodePoints(text, max) {
  let end = 0;
  for (let count = 0; count < max && end < text.length; count++) {
    end += text.codePointAt(end) > 0xffff ? 2 : 1;
  }
  return text.slice(0, end);
}

/** What a program wrote, cut: nothing beyond is kept. @param {number} textMax in code points */
function createCapture(textMax) {
  let room = 0;
  let length = 0;
  let chunks = [];
  return {
    write(bytes) {
      length += bytes.length;
      const kept = bytes.subarray(0, room);
      if (kept.length > 0) chunks.push(Buffer.from(kept));
      room -= kept.length;
      return bytes.length;
    },
    begin() {
      room = textMax * BYTES_PER_CODE_POINT;
      length = 0;
      chunks = [];
    },
    text: () => firstCodePoints(Buffer.concat(chunks).toString('utf8'), textMax),
    length: () => length,
  };
}

/** An error is one write that begins with a zero byte (harness.mjs); the rest is not kept. */
function createErrorCapture(capture) {
  return {
    write(bytes) {
      if (bytes[0] === 0) {
        capture.begin();
        capture.write(bytes.subarray(1));
      }
      return bytes.length;
    },
  };
}

/** Hooks the one moment at which the imports exist and the module does not. */
async function loadGated(settings, gate) {
  const { instantiate } = WebAssembly;
  let memory;
  WebAssembly.instantiate = async (binary, imports) => {
    const isPython = imports?.env?.fd_write !== undefined;
    if (isPython) {
      boundRequests(imports.env, settings.memoryMaxBytes);
      gate.install(imports.env, () => memory.buffer);
    }
    const result = await instantiate.call(WebAssembly, binary, imports);
    if (isPython) memory = boundGrowth(result.instance.exports.memory, settings.memoryMaxBytes);
    return result;
  };
  const { loadPyodide } = await import(`file://${settings.pyodideFolder}/pyodide.mjs`);
  const pyodide = await loadPyodide({
    indexURL: settings.pyodideFolder,
    jsglobals: Object.freeze(Object.create(null)),
    env: { ...ENVIRONMENT },
    _sysExecutable: 'python',
  });
  WebAssembly.instantiate = instantiate;
  return { pyodide, memory };
}

/**
 * Puts packages where Python finds them and imports each once, so that a program starts with it loaded;
 * native code can only be loaded now, while the doors are open.
 * @param {object} pyodide
 * @param {readonly { path: string, native: boolean, imports: readonly string[] }[]} packages
 */
function loadPackages(pyodide, packages) {
  for (const { path, native } of packages) {
    const bytes = new Uint8Array(readFileSync(path));
    if (native) pyodide.unpackArchive(bytes, 'wheel', { extractDir: PACKAGES });
    else {
      const place = `${PACKAGES}/${path.slice(path.lastIndexOf('/') + 1)}`;
      pyodide.FS.writeFile(place, bytes);
      pyodide.runPython(`import sys; sys.path.append(${JSON.stringify(place)})`);
    }
  }
  const names = packages.flatMap(({ imports }) => imports);
  for (const name of names) pyodide.runPython(`import ${name}`);
}

const TOO_DEEP = 'RecursionError: maximum recursion depth exceeded';

/** How a call that did not come back by itself ended. */
function verdictOf(error, violation) {
  if (violation !== '') return { kind: 'forbidden', text: violation };
  if (error instanceof Expired) return { kind: 'expired', text: '' };
  if (error instanceof Forbidden) return { kind: 'forbidden', text: error.message };
  // The stack of JavaScript, on which WebAssembly runs, ends before Python's own limit where C calls itself.
  const isTooDeep = error instanceof RangeError && /call stack/.test(error.message);
  if (isTooDeep) return { kind: 'raised', text: TOO_DEEP };
  return { kind: 'stopped', text: String(error?.name) };
}

/**
 * Loads Python and closes every door behind it.
 * @param {{ pyodideFolder: string, timeoutMs: number, memoryMaxBytes: number, growthKeptBytes: number,
 *   packages: readonly { path: string, native: boolean, imports: readonly string[] }[], textMax: number,
 *   prelude?: string, programPython: string, printNone: boolean }} settings textMax: most code points of an
 *   answer
 */
export async function startInterpreter(settings) {
  closeNetwork();
  lendFileConstants();
  const gate = createGate();
  const { pyodide, memory } = await loadGated(settings, gate);
  const { _module: module, FS } = pyodide;
  const output = createCapture(settings.textMax);
  const failure = createCapture(settings.textMax);
  pyodide.setStdin({ stdin: () => null });
  pyodide.setStdout(output);
  pyodide.setStderr(createErrorCapture(failure));
  foreseeableDevices(FS, gate.nextByte);
  if (settings.packages.length > 0) loadPackages(pyodide, settings.packages);
  if (settings.prelude)
    pyodide.runPython(settings.prelude, { globals: pyodide.toPy({ __name__: 'prelude' }) });
  for (const name of ['js', 'pyodide_js']) pyodide.unregisterJsModule(name);
  pyodide.runPython(harness(settings), { globals: pyodide.toPy({ __name__: 'millrace' }) });
  module.HEAP8[module._Py_EMSCRIPTEN_SIGNAL_HANDLING] = 1;
  closeHost();
  gate.shut();

  const files = keepFiles(FS, FILES_QUOTA);
  const stack = module.stackSave();
  const kept = keepMemory(memory);

  function restore() {
    module.stackRestore(stack);
    kept.restore();
    files.restore();
  }

  /** Runs a program; the state is not put back yet, so that the answer can go out first. */
  function run(program) {
    output.begin();
    failure.begin();
    gate.begin(performance.now() + settings.timeoutMs);
    try {
      const source = module.stringToNewUTF8(`_millrace(${JSON.stringify(program)})`);
      const code = module._PyRun_SimpleString(source);
      gate.end();
      if (gate.violation() !== '') return verdictOf(undefined, gate.violation());
      if (failure.length() > 0) return { kind: 'raised', text: failure.text() };
      if (code !== 0) return { kind: 'raised', text: 'MemoryError' };
      return { kind: 'done', text: output.text() };
    } catch (error) {
      gate.end();
      return verdictOf(error, gate.violation());
    }
  }

  for (const program of WARM_UP) {
    run(program);
    restore();
  }

  return {
    run,
    restore,
    /** Memory beyond the kept state, in bytes: a restore has to clear it every time. */
    grownBytes: kept.grownBytes,
  };
}
