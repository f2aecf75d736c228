// The in-memory files that a program sees. Runs inside the sandbox process.
//
// The interpreter's own tree is read-only; a program may write under its home and under /tmp, within a
// quota of bytes and of files. After a call the tree is put back as it was: what the program made is
// gone, and so are its open files and its working directory.
//
// The guards replace the operations of the one in-memory file system in place, so no path leads around
// them: a file has no other way to change. `FS` is Emscripten's, untyped here.

const WRITABLE = ['/home/pyodide', '/tmp'];

/** errno, as this C library numbers it: read-only file system, no space left. */
const EROFS = 69;
const ENOSPC = 51;

/**
 * `/dev/random` and `/dev/urandom` give what the program's other sources of entropy give: the same in each
 * call.
 */
export function foreseeableDevices(FS, nextByte) {
  for (const name of ['random', 'urandom']) {
    FS.unlink(`/dev/${name}`);
    FS.createDevice('/dev', name, nextByte);
  }
}

/** Every file and folder there is, mounts included. */
function allNodes(FS) {
  const found = new Set();
  const visit = (node) => {
    if (found.has(node)) return;
    found.add(node);
    if (FS.isDir(node.mode)) for (const child of Object.values(node.contents ?? {})) visit(child);
  };
  visit(FS.root);
  for (const node of FS.nameTable) for (let at = node; at; at = at.name_next) visit(at);
  return [...found];
}

/** What is remembered of a node so that it can be put back: its fields, and the names in a folder. */
function remember(FS, node) {
  const isFolder = FS.isDir(node.mode) && node.contents;
  return { node, fields: { ...node }, names: isFolder ? { ...node.contents } : null };
}

/**
 * Guards the files from here on, and gives the way back to this moment.
 * @param {object} FS
 * @param {{ bytesMax: number, nodesMax: number }} quota of one call
 */
export function keepFiles(FS, quota) {
  const memory = FS.filesystems.MEMFS;
  const firstNew = FS.nextInode;
  const writable = new Set(WRITABLE.map((path) => FS.lookupPath(path).node));
  let bytes = 0;

  const fail = (errno) => {
    throw new FS.ErrnoError(errno);
  };
  const mayChange = (node) => node.id >= firstNew || fail(EROFS);
  const mayHold = (folder) => folder.id >= firstNew || writable.has(folder) || fail(EROFS);
  const mayReplace = (folder, name) => {
    mayHold(folder);
    const there = folder.contents[name];
    if (there) mayChange(there);
  };
  const spend = (amount) => {
    bytes += Math.max(0, amount);
    if (bytes > quota.bytesMax || FS.nextInode - firstNew >= quota.nodesMax) fail(ENOSPC);
  };

  const before = { ...memory.node_ops, write: memory.stream_ops.write };
  const write = (stream, buffer, offset, length, position, canOwn) => {
    mayChange(stream.node);
    spend(position + length - stream.node.usedBytes);
    return before.write(stream, buffer, offset, length, position, canOwn);
  };
  const guarded = {
    setattr(node, attributes) {
      mayChange(node);
      spend((attributes.size ?? 0) - (node.usedBytes ?? 0));
      return before.setattr(node, attributes);
    },
    mknod(parent, name, mode, device) {
      mayHold(parent);
      spend(0);
      return before.mknod(parent, name, mode, device);
    },
    symlink(parent, name, target) {
      mayHold(parent);
      spend(target.length);
      return before.symlink(parent, name, target);
    },
    rename(node, folder, name) {
      mayChange(node);
      mayReplace(folder, name);
      return before.rename(node, folder, name);
    },
    unlink(parent, name) {
      mayReplace(parent, name);
      return before.unlink(parent, name);
    },
    rmdir(parent, name) {
      mayReplace(parent, name);
      return before.rmdir(parent, name);
    },
  };
  Object.assign(memory.node_ops, guarded);
  memory.stream_ops.write = write;
  for (const kind of Object.values(memory.ops_table)) {
    for (const name of Object.keys(guarded)) if (kind.node[name]) kind.node[name] = guarded[name];
  }
  memory.ops_table.file.stream.write = write;

  const nodes = allNodes(FS).map((node) => remember(FS, node));
  const names = [...FS.nameTable];
  const open = FS.streams.map((stream) => stream && [stream, { ...stream }, { ...stream.shared }]);
  const folder = FS.currentPath;

  return {
    restore() {
      for (const { node, fields, names: children } of nodes) {
        Object.assign(node, fields);
        if (children) node.contents = { ...children };
      }
      for (let i = 0; i < names.length; i++) FS.nameTable[i] = names[i];
      FS.streams.length = open.length;
      open.forEach((saved, fd) => {
        if (!saved) {
          FS.streams[fd] = null;
          return;
        }
        const [stream, own, shared] = saved;
        FS.streams[fd] = Object.assign(stream, own);
        Object.assign(stream.shared, shared);
      });
      FS.currentPath = folder;
      FS.nextInode = firstNew;
      bytes = 0;
    },
  };
}
