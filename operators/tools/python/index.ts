/** Python programs in a sandbox. */
export { type NamedPackage, type PythonOptions, pythonTool } from './pythonTool.ts';
