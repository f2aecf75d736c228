"""A stand-in for SGLang's CUDA kernels, whose packages run on no CPU: its names can be imported, and fail when called.

Enough for `--attention-backend torch_native --sampling-backend pytorch` on a CPU, where none of them is called.
"""

import importlib.abc
import importlib.machinery
import sys
import types

__version__ = "0.4.10"


class _Missing:
    def __init__(self, name):
        self._name = name

    def __call__(self, *args, **more):
        raise RuntimeError(f"{self._name} is a CUDA kernel: this is the stand-in for machines without a GPU")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Missing(f"{self._name}.{name}")


class _Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Missing(f"{self.__name__}.{name}")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.startswith("sgl_kernel."):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.append(_Finder())


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _Missing(f"sgl_kernel.{name}")
