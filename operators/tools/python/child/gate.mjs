// The gate: the only way from Python (WebAssembly) to JavaScript is through the functions that the
// module imports. This file decides which of them still work once the interpreter is ready.
//
// What is on the list below serves the clock, the in-memory files, memory growth and calls between
// Python's own functions. Any other call, and with it the whole bridge between Python objects and
// JavaScript objects, raises `Forbidden`. So a JavaScript object that is found on Python's heap is inert.
//
// Two more things are settled here because every one of them is an import:
// - the time limit: `Expired` unwinds Python from within, and no `except` of Python's can catch it;
// - entropy: a fixed stream, so that the same program gives the same output.

/** Raised out of WebAssembly when a program calls what is not on the list. */
export class Forbidden extends Error {}
/** Raised out of WebAssembly when a program has used up its time. */
export class Expired extends Error {}

const CLOCK = [
  'emscripten_date_now',
  'emscripten_get_now',
  'clock_res_get',
  'clock_time_get',
  '_tzset_js',
  '_timegm_js',
  '_mktime_js',
  '_localtime_js',
  '_gmtime_js',
];
const FILES = [
  'fd_close',
  'fd_read',
  'fd_write',
  'fd_sync',
  'fd_fdstat_get',
  'fd_seek',
  'fd_pread',
  'fd_pwrite',
  '__syscall_fcntl64',
  '_try_fcntl64',
  '__syscall_ioctl',
  '__syscall_openat',
  '__syscall_faccessat',
  '__syscall_chdir',
  '__syscall_fchdir',
  '__syscall_chmod',
  '__syscall_fchmod',
  '__syscall_fchmodat2',
  '__syscall_dup',
  '__syscall_dup3',
  '__syscall_fdatasync',
  '__syscall_fstat64',
  '__syscall_stat64',
  '__syscall_newfstatat',
  '__syscall_lstat64',
  '__syscall_ftruncate64',
  '__syscall_truncate64',
  '__syscall_getcwd',
  '__syscall_getdents64',
  '__syscall_mkdirat',
  '__syscall_readlinkat',
  '__syscall_unlinkat',
  '__syscall_rmdir',
  '__syscall_renameat',
  '__syscall_statfs64',
  '__syscall_fstatfs64',
  '__syscall_symlinkat',
  '__syscall_utimensat',
];
const RUNTIME = [
  'emscripten_resize_heap',
  'emscripten_get_heap_max',
  '_PyEM_TrampolineCall_JS',
  '_Py_CheckEmscriptenSignals_Helper',
  '_Py_emscripten_runtime',
  'environ_sizes_get',
  'environ_get',
  'random_get',
  '__call_sighandler',
];
const OPEN = new Set([...CLOCK, ...FILES, ...RUNTIME]);

/** Calls that a waiting or a printing program makes; each looks at the clock. */
const TICKING = [
  'emscripten_get_now',
  'emscripten_date_now',
  'clock_time_get',
  'fd_write',
  'fd_read',
];
const TICKS = '_Py_CheckEmscriptenSignals_Helper';

/** "Function not implemented", as this C library numbers it. */
const ENOSYS = 52;
/** Any constant but 0 serves; this one is the golden ratio in 32 bits. */
const ENTROPY_SEED = 0x9e3779b9;

/**
 * @param {(name: string) => unknown} denied what a call that is not on the list comes to
 * @param {Record<string, Function>} imports
 * @param {() => boolean} isShut
 */
function guard(imports, isShut, denied) {
  for (const [name, call] of Object.entries(imports)) {
    if (typeof call !== 'function' || OPEN.has(name)) continue;
    const guarded = (/** @type {unknown[]} */ ...args) =>
      isShut() ? denied(name) : Reflect.apply(call, undefined, args);
    imports[name] = Object.assign(guarded, call);
  }
}

/** A gate that is open until `shut()`, with a deadline that is `Infinity` until it is set. */
export function createGate() {
  let shut = false;
  let deadlineMs = Number.POSITIVE_INFINITY;
  let violation = '';
  let entropy = ENTROPY_SEED;

  const tick = () => {
    if (performance.now() > deadlineMs) throw new Expired('the time is used up');
    return 0;
  };
  const denied = (/** @type {string} */ name) => {
    if (name.startsWith('__syscall_')) return -ENOSYS;
    violation ||= name;
    throw new Forbidden(name);
  };
  const nextByte = () => {
    entropy ^= entropy << 13;
    entropy ^= entropy >>> 17;
    entropy ^= entropy << 5;
    return entropy & 255;
  };

  return {
    /**
     * Rewrites the imports in place, before the module is instantiated.
     * @param {Record<string, Function>} imports
     * @param {() => ArrayBuffer} memory
     */
    install(imports, memory) {
      guard(imports, () => shut, denied);
      for (const name of TICKING) {
        const call = /** @type {Function} */ (imports[name]);
        const ticking = (/** @type {unknown[]} */ ...args) => {
          tick();
          return Reflect.apply(call, undefined, args);
        };
        imports[name] = Object.assign(ticking, call);
      }
      imports[TICKS] = Object.assign(tick, { sig: 'i' });
      const random = (/** @type {number} */ pointer, /** @type {number} */ size) => {
        const bytes = new Uint8Array(memory(), pointer >>> 0, size >>> 0);
        for (let i = 0; i < bytes.length; i++) bytes[i] = nextByte();
        return 0;
      };
      imports.random_get = Object.assign(random, { sig: 'ipp' });
    },
    shut() {
      shut = true;
    },
    /** Begins a call: its time, and the same entropy as every other call. @param {number} atMs */
    begin(atMs) {
      deadlineMs = atMs;
      violation = '';
      entropy = ENTROPY_SEED;
    },
    end() {
      deadlineMs = Number.POSITIVE_INFINITY;
    },
    /** The next byte of that entropy. */
    nextByte,
    /** The first forbidden import that was called since `begin`; empty when none was. */
    violation: () => violation,
  };
}
