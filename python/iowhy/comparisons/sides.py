"""What is compared: a recording, or a set of recordings of the same thing."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.recordings import Recording, open_recording
from iowhy.recordings.packed import SUFFIX as PACKED_SUFFIX

_SUFFIX = ".iowhy"


class Side(Struct, frozen=True):
    """One side of a comparison; ``seconds`` has one elapsed time per recording that has one.

    ``typical`` is the recording of median time: its layers and findings represent the set.
    """

    label: str
    recordings: tuple[Recording, ...]
    seconds: tuple[float, ...]
    typical: Recording


def open_sides(texts: Sequence[str], on_step: Callable[[str], None] = lambda _: None) -> list[Side]:
    """Each side, under its own name: with its directory where two would be called the same."""
    sides = []
    for text in texts:
        on_step(f"opening {text}")
        sides.append(open_side(text))
    common = {name for name, count in Counter(one.label for one in sides).items() if count > 1}
    return [
        replace(one, label=_without_suffix(text.rstrip("/"))) if one.label in common else one
        for one, text in zip(sides, texts, strict=True)
    ]


def open_side(text: str) -> Side:
    """A recording, a directory of recordings, or several joined by commas.

    Raises Problem naming what is not a recording.
    """
    paths: list[Path] = []
    for part in text.split(","):
        path = Path(part)
        if not path.exists():
            raise Problem("no-such-recording", path=part)
        if path.is_file() or (path / "manifest.json").exists():
            paths.append(path)
            continue
        inside = sorted(one for one in path.glob(f"*{_SUFFIX}") if (one / "manifest.json").exists())
        inside += sorted(one for one in path.glob(f"*{PACKED_SUFFIX}") if one.is_file())
        if not inside:
            raise Problem("neither-recording-nor-directory", path=part, suffix=_SUFFIX)
        paths += inside
    label = Path(text.rstrip("/")).name if len(paths) == 1 or "," not in text else text
    return side_of(_without_suffix(label), paths)


def side_of(label: str, paths: Sequence[Path]) -> Side:
    """The recordings under a name. Raises Problem naming what is not one."""
    recordings = tuple(open_recording(path) for path in paths)
    timed = [(value, one) for one in recordings if (value := elapsed_s(one)) is not None]
    timed.sort(key=lambda pair: pair[0])
    typical = timed[(len(timed) - 1) // 2][1] if timed else recordings[0]
    return Side(label, recordings, tuple(v for v, _ in timed), typical)


def _without_suffix(name: str) -> str:
    """The name of a recording, packed or not, as people call it."""
    return name.removesuffix(PACKED_SUFFIX).removesuffix(_SUFFIX)


def elapsed_s(recording: Recording) -> float | None:
    """The command's elapsed time; None when it is not known or not above 0."""
    command = recording.manifest.command
    if command.start_ns is None or command.end_ns is None or command.end_ns <= command.start_ns:
        return None
    return (command.end_ns - command.start_ns) / 1e9
