/**
 * How jest compiles TypeScript: by @swc/jest, with the globals that loops use as constants of each module. Tests
 * run in a context of node:vm, where looking up a global takes a microsecond: without this, lookups of `Math`
 * alone take most of the suite's time.
 */
import swc from '@swc/jest';

const GLOBALS = [
  ...['Array', 'Float32Array', 'Float64Array', 'Int32Array', 'JSON', 'Map', 'Math', 'Number'],
  ...['Object', 'Set', 'String', 'Symbol', 'Uint16Array', 'Uint32Array', 'Uint8Array'],
].map((name) => ({
  name,
  used: new RegExp(`\\b${name}\\b`),
  declared: new RegExp(`\\b(?:const|let|var|class|function) ${name}\\b`),
}));

const compiler = swc.createTransformer({
  jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
  module: { type: 'es6' },
});

/** On the first line, so that all lines keep their numbers. */
function withConstants({ code, ...rest }) {
  const names = GLOBALS.filter(({ used, declared }) => used.test(code) && !declared.test(code));
  if (names.length === 0) return { code, ...rest };
  const constants = names.map(({ name }) => name).join();
  return { code: `const{${constants}}=globalThis;${code}`, ...rest };
}

export default {
  ...compiler,
  process: (...of) => withConstants(compiler.process(...of)),
  processAsync: async (...of) => withConstants(await compiler.processAsync(...of)),
  getCacheKey: (...of) => `constants-1-${compiler.getCacheKey(...of)}`,
};
