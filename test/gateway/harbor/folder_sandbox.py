"""A sandbox of Harbor for tests, where there are no containers: a folder as the root, with this machine's programs and
files below it. Tasks are not kept from harming the machine. Needs Linux and root."""

import asyncio
import os
import shutil
import tempfile
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult

# The first process of namespaces of its own: with it goes whatever ran there. It says when the root is ready.
FIRST = """set -e; cd "$0"
mkdir -p app tests tmp proc logs/agent logs/verifier logs/artifacts
for each in bin sbin lib lib64 usr etc dev; do
  if [ -d /$each ]; then mkdir $each; mount --rbind /$each $each; fi
done
mount -t proc proc proc
echo ready; exec sleep infinity"""


class FolderSandbox(BaseEnvironment):
    @staticmethod
    def type() -> str:
        return "folder"

    def _validate_definition(self) -> None:
        pass

    def _at(self, path: str) -> str:
        return f"{self.root}/{path}"

    async def start(self, force_build: bool) -> None:
        self.root = tempfile.mkdtemp()
        separate = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        # asyncio kills a process that nobody refers to.
        self.outer = outer = await asyncio.create_subprocess_exec(
            *separate, "sh", "-c", FIRST, self.root, stdout=-1
        )
        if await outer.stdout.readline() != b"ready\n":
            raise RuntimeError("the sandbox did not start")
        self.first = int(Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text())
        # Tests end it by this.
        Path(os.environ["SANDBOX_PID"]).write_text(str(self.first))

    async def stop(self, delete: bool) -> None:
        if self.outer.returncode is None:
            self.outer.kill()
            await self.outer.wait()
        shutil.rmtree(self.root)

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None) -> ExecResult:
        away = Path(os.environ["SANDBOX_PID"] + ".away")
        if away.exists():
            away.unlink()
            raise ConnectionError("the sandbox is away")
        inside = ["nsenter", "--target", str(self.first), "--mount", "--pid", "chroot", self.root]
        run = ["bash", "-c", f"cd {cwd or '/app'} && {command}"]
        child = await asyncio.create_subprocess_exec(
            *inside, *run, stdin=-3, stdout=-1, stderr=-1, env={**os.environ, **(self._merge_env(env) or {})}
        )
        out, err = await asyncio.wait_for(child.communicate(), timeout_sec)
        return ExecResult(stdout=out.decode(), stderr=err.decode(), return_code=child.returncode)

    async def upload_file(self, source_path, target_path: str) -> None:
        shutil.copy(source_path, self._at(target_path))

    async def upload_dir(self, source_dir, target_dir: str) -> None:
        shutil.copytree(source_dir, self._at(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path) -> None:
        shutil.copy(self._at(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir) -> None:
        shutil.copytree(self._at(source_dir), target_dir, dirs_exist_ok=True)
