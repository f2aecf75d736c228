/** A package that the sandbox can have, and how to verify it. */
export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** Of the distribution. */
  readonly file: string;
  readonly sha256: string;
  readonly depends: readonly string[];
  /** The names that a program imports. */
  readonly imports: readonly string[];
  /** It holds code for WebAssembly, which fits one version of pyodide. */
  readonly native: boolean;
}
