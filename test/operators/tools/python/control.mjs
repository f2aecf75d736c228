// The control of the escape suite: the same probes in a plain pyodide, with none of the sandbox's layers.
// Reads a JSON array of programs on stdin, writes a JSON array of what each printed on stdout.

import { loadPyodide } from 'pyodide';

let input = '';
for await (const chunk of process.stdin) input += chunk;

const printed = [];
const options = {
  jsglobals: Object.freeze(Object.create(null)),
  stdout: () => {},
  stderr: () => {},
};
const pyodide = await loadPyodide(options);
for (const program of JSON.parse(input)) {
  let output = '';
  pyodide.setStdout({ batched: (text) => (output += `${text}\n`) });
  try {
    await pyodide.runPythonAsync(program, { globals: pyodide.toPy({ __name__: '__main__' }) });
  } catch (error) {
    output += String(error.message).trim().split('\n').at(-1);
  }
  printed.push(output);
}
process.stdout.write(JSON.stringify(printed), () => process.exit(0));
