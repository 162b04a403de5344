"""Modules of the standard library that others import and hardly use, read only when something of them is asked for."""

import importlib
import sys
from types import ModuleType


class _Later(ModuleType):
    """Stands for a module that is not read yet. Whoever asks for something of it has it read, by any thread once."""

    def __getattr__(self, name: str) -> object:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def put_off(name: str) -> None:
    """Has `import` of a module that is not read yet end at once."""
    if name not in sys.modules:
        sys.modules[name] = _Later(name)
