"""Packages that are functions too: `iowhy.recording` holds modules, and `iowhy.recording()` records.

The Python API has the names of the command line's words, and some of these are packages here.
"""

import importlib
import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *words: Any, **options: Any) -> Any:
        api = importlib.import_module(
            "iowhy.api"
        )  # imported by a call alone: it imports this package
        return getattr(api, self.__name__.rpartition(".")[2])(*words, **options)


def make_callable(package: str) -> None:
    """From now on a call of the package is one of the function of its name in `iowhy.api`."""
    sys.modules[package].__class__ = _Callable
