"""iowhy shows why I/O is slow on Linux, with a measured number at each why.

The Python API (docs/api.md) is `iowhy.open`, `record`, `recording`, `experiment`, `compare` and `Problem`; nothing of
it is imported before it is used.
"""

from typing import Any

from iowhy.version import VERSION as __version__  # noqa: F401

_API = ("open", "record", "recording", "experiment", "compare", "load_ipython_extension")


def __getattr__(name: str) -> Any:
    """A name of the API, on its first use."""
    from importlib import import_module

    if name == "Problem":
        return import_module("iowhy.errors").Problem
    if name not in _API:
        raise AttributeError(f"module 'iowhy' has no attribute {name!r}")
    return getattr(import_module("iowhy.api"), name)


def __dir__() -> list[str]:
    return [*_API, "Problem", "__version__"]
