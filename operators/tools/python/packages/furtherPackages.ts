/**
 * Pure-Python packages that are missing in pyodide's distribution but work in the sandbox, with the SHA-256
 * of their wheels: math-verify, in the version that decided Tool-Star's rewards, and its dependencies.
 */
import type { LockedPackage } from './lockedPackage.ts';

const pure = { native: false };

export const furtherPackages: readonly LockedPackage[] = [
  {
    ...pure,
    name: 'antlr4-python3-runtime',
    version: '4.13.2',
    file: 'antlr4_python3_runtime-4.13.2-py3-none-any.whl',
    sha256: 'fe3835eb8d33daece0e799090eda89719dbccee7aa39ef94eed3818cafa5a7e8',
    depends: [],
    imports: ['antlr4'],
  },
  {
    ...pure,
    name: 'latex2sympy2-extended',
    version: '1.10.1',
    file: 'latex2sympy2_extended-1.10.1-py3-none-any.whl',
    sha256: '917a23e8f3b6edea88a56978fbbe87ed9fca4197f8277646be57b4660710347c',
    depends: ['sympy', 'antlr4-python3-runtime'],
    imports: ['latex2sympy2_extended'],
  },
  {
    ...pure,
    name: 'math-verify',
    version: '0.7.0',
    file: 'math_verify-0.7.0-py3-none-any.whl',
    sha256: 'bbdd491b511f6ceef27c5e08543affa1735807b6e3abb6f005bf493dc0eb485b',
    depends: ['latex2sympy2-extended'],
    imports: ['math_verify'],
  },
];

/** By file name. */
export const furtherWheels: Readonly<Record<string, string>> = Object.fromEntries(
  furtherPackages.map(({ file, sha256 }) => [file, sha256]),
);
