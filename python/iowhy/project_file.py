"""Where a project says what it expects of its commands: found without importing what reads it."""

from pathlib import Path

NAME = "iowhy.toml"


def find_project(folder: Path) -> Path | None:
    """The project's file of a folder, or of the nearest one above it: here, as each run asks and few have one."""
    for place in (folder, *folder.parents):
        if (place / NAME).is_file():
            return place / NAME
    return None
