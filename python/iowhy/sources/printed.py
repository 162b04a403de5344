"""Where what a watched command prints is found again."""

from pathlib import Path


def printed_beside(recording: Path) -> Path:
    """The file next to a recording that its command printed to, while a live view had the terminal."""
    return recording.with_name(f"{recording.name}.output")
