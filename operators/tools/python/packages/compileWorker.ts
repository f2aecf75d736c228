/** Compiles pure-Python wheels, in a thread with an interpreter of its own. Nothing of a wheel runs. */
import { loadPyodide } from 'pyodide';
import { serve } from '../../../../base/index.ts';
import { pyodideFolder } from '../launch.ts';

/** Compiles, and drops what only testers of the package need. */
const PROGRAM = `
import warnings, zipfile
from importlib import _bootstrap_external as boot

UNPACKED_MAX = 512 << 20

def convert(source, target):
    unpacked = sum(info.file_size for info in zipfile.ZipFile(source).infolist())
    if unpacked > UNPACKED_MAX:
        raise ValueError(f'it unpacks to {unpacked >> 20} MiB, more than {UNPACKED_MAX >> 20}')
    with zipfile.ZipFile(source) as wheel, zipfile.ZipFile(target, 'w', zipfile.ZIP_DEFLATED) as out:
        for info in sorted(wheel.infolist(), key=lambda one: one.filename):
            name = info.filename
            if name.endswith('/') or '/tests/' in name:
                continue
            data = wheel.read(info)
            if name.endswith('.py'):
                try:
                    code = compile(data, name, 'exec', dont_inherit=True, optimize=0)
                except SyntaxError:
                    continue
                name, data = name + 'c', boot._code_to_timestamp_pyc(code)
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, data)

warnings.simplefilter('ignore')
convert('/in.whl', '/out.zip')
`;

let python: ReturnType<typeof loadPyodide> | null = null;

serve({
  async archive(wheel: Uint8Array): Promise<Uint8Array> {
    python ??= loadPyodide({ indexURL: pyodideFolder() });
    const { FS, runPython } = await python;
    try {
      FS.writeFile('/in.whl', wheel);
      runPython(PROGRAM);
      return FS.readFile('/out.zip') as Uint8Array;
    } finally {
      for (const path of ['/in.whl', '/out.zip']) {
        if (FS.analyzePath(path).exists) FS.unlink(path);
      }
    }
  },
});
