/** Python packages for the sandbox. */
export { type Compiler, packageCompiler } from './compile.ts';
export { normalName, pyodideLock, withNeeded } from './lock.ts';
export {
  type AddedPackage,
  addedPackages,
  checkPackages,
  digestOf,
  keepPackage,
  packagesFolder,
  removePackages,
} from './store.ts';
export { fetchWheel } from './wheel.ts';
