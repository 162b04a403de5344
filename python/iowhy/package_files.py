"""What is in a package: its modules, and files of data next to them (SQL, TOML, assets of pages)."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # slow to import
    from importlib.resources.abc import Traversable


def package_folder(package: str) -> "Path | Traversable":
    """The folder of a package (`iowhy.reports`), on disk, as nearly always, or in an archive."""
    module = sys.modules.get(package) or import_module(package)
    folder = Path(module.__path__[0])
    if folder.is_dir():
        return folder
    from importlib import resources  # brings tempfile, zipfile and others

    return resources.files(package)


def files_by_name(package: str, kind: str, below: str = "") -> "dict[str, Path | Traversable]":
    """Its files of one kind (`.sql`), in a folder `below` it if that is given: by their names without it, in their order."""
    folder = package_folder(package)
    files = (folder / below if below else folder).iterdir()
    found = {file.name: file for file in files if file.name.endswith(kind)}
    return {name.removesuffix(kind): found[name] for name in sorted(found)}


def modules_of(package: str) -> Iterator[ModuleType]:
    """Its modules by their names, imported: what people add a file for (a cause, a lever, a check).

    The standard library's pkgutil takes 5 ms of imports for the same.
    """
    names = set(files_by_name(package, ".py"))
    for place in import_module(package).__path__[1:]:
        names |= {file.stem for file in Path(place).glob("*.py")}
    for name in sorted(names - {"__init__"}):
        yield import_module(f"{package}.{name}")
