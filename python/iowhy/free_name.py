"""Names for new recordings."""

from pathlib import Path


def free_name(folder: Path, stem: str) -> Path:
    """A recording's path in a folder that nothing has yet: stem.iowhy, stem-2.iowhy, …"""
    path, number = folder / f"{stem}.iowhy", 2
    while path.exists():
        path, number = folder / f"{stem}-{number}.iowhy", number + 1
    return path
