"""One module per foreign format. A new format is a new file here: nothing lists them."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from types import ModuleType

from iowhy.package_files import modules_of
from iowhy.sources.format import Claim, Format

#: Of a line, characters that are looked at to tell what it begins.
SNIFFED = 4096


@cache
def formats() -> tuple[Format, ...]:
    """All formats, by name. A module without NAME is a helper of its neighbours, not a format."""
    return tuple(sorted(_discover(), key=lambda one: one.name))


def _discover() -> Iterator[Format]:
    for module in modules_of(__name__):
        if not hasattr(module, "NAME"):
            continue
        hint = getattr(module, "HINT", None)
        yield Format(
            name=module.NAME,
            tool=getattr(module, "TOOL", module.NAME),
            hint=re.compile(hint) if hint is not None else None,
            sniff=getattr(module, "sniff", None)
            or (_by_hint(module) if hint is not None else None),
            read=getattr(module, "read", None),
            sniff_head=getattr(module, "sniff_head", None)
            or (_by_events(module) if hasattr(module, "EVENT") else None),
            stream=getattr(module, "stream", None),
            long_lines=getattr(module, "LONG_LINES", hasattr(module, "stream")),
            commas_part=getattr(module, "COMMAS_PART", False),
            histograms=getattr(module, "HISTOGRAMS", False),
            together=getattr(module, "together", None),
        )


def _by_hint(module: ModuleType) -> Callable[[Sequence[str], int], Claim | None]:
    """Of a format without `sniff`: an output begins where the hint says, with NEAR and FIRST."""
    sure = getattr(module, "SURE", 0.9)
    begins = re.compile(getattr(module, "BEGINS", r"(?!)"))
    pattern, reach = getattr(module, "NEAR", (getattr(module, "EVENT", ""), 1))
    near = re.compile(pattern)
    begin, together = getattr(module, "FIRST", ("", 1))
    first = re.compile(begin, re.MULTILINE)

    def sniff(lines: Sequence[str], at: int) -> Claim | None:
        if not any(near.search(line[:SNIFFED]) for line in lines[at : at + reach]):
            return None
        if begin and not first.match(
            "\n".join(line[:SNIFFED] for line in lines[at : at + together])
        ):
            return None
        return Claim(sure, again=begins.match(lines[at]) is None)

    return sniff


def _by_events(module: ModuleType) -> Callable[[bytes], float | None]:
    """Of a format without `sniff_head`: most of the first lines are events, or the lines between them."""
    event, other = re.compile(module.EVENT), re.compile(getattr(module, "OTHER", r"(?!)"))

    def sniff_head(head: bytes) -> float | None:
        lines = head.decode("utf-8", errors="replace").splitlines()[:-1][:300]
        sample = [line[:SNIFFED] for line in lines if line.strip()]
        events = sum(event.match(line) is not None for line in sample)
        rest = sum(other.match(line) is not None for line in sample)
        return 0.95 if events and events + rest >= 0.8 * len(sample) else None

    return sniff_head
