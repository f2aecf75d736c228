/**
 * npm's `preinstall` of this package: it is installed from the npm registry alone, wherever it is installed.
 *
 * The CPU and WebGPU parts of ONNX Runtime lie in its package. Its install script fetches several hundred megabytes of
 * CUDA libraries from NuGet besides, and where NuGet is out of reach the whole installation fails. npm lets no
 * dependency decide about the scripts of another one, but it runs every `preinstall` before the first `postinstall`:
 * so that script is given a first line that ends it. Run by hand (docs/gpu.md), or where ONNXRUNTIME_NODE_INSTALL says
 * what to fetch, it does what it always did. Nothing here can fail an installation.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const line =
  "if (process.env.npm_lifecycle_event === 'postinstall' && !process.env.ONNXRUNTIME_NODE_INSTALL && " +
  '!process.env.npm_config_onnxruntime_node_install) process.exit(0); // put here by millrace/scripts/preinstall.js\n';

try {
  const path = createRequire(import.meta.url).resolve('onnxruntime-node/script/install.js');
  const script = readFileSync(path, 'utf8');
  if (!script.startsWith(line)) {
    // A new file in the place of the old one: that may be a link to one that other projects share.
    writeFileSync(`${path}.new`, line + script);
    renameSync(`${path}.new`, path);
  }
} catch (problem) {
  console.warn(`millrace: the install script of onnxruntime-node is left as it is (${problem})`);
}
