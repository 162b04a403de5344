"""One module per foreign format. A new format is a new file here: nothing lists them."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from types import ModuleType

from iowhy.package_files import modules_of
from iowhy.sources.format import Claim, Format


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
            tool=module.TOOL,
            hint=re.compile(hint) if hint is not None else None,
            sniff=getattr(module, "sniff", None)
            or (_by_hint(module) if hint is not None else None),
            read=getattr(module, "read", None),
            sniff_head=getattr(module, "sniff_head", None),
            stream=getattr(module, "stream", None),
            long_lines=getattr(module, "LONG_LINES", hasattr(module, "stream")),
            commas_part=getattr(module, "COMMAS_PART", False),
            histograms=getattr(module, "HISTOGRAMS", False),
        )


def _by_hint(module: ModuleType) -> Callable[[Sequence[str], int], Claim | None]:
    """Of a format without `sniff`: an output begins where the hint says, with NEAR."""
    sure = getattr(module, "SURE", 0.9)
    begins = re.compile(getattr(module, "BEGINS", r"(?!)"))
    pattern, reach = getattr(module, "NEAR", ("", 1))
    near = re.compile(pattern)

    def sniff(lines: Sequence[str], at: int) -> Claim | None:
        if not any(map(near.search, lines[at : at + reach])):
            return None
        return Claim(sure, again=begins.match(lines[at]) is None)

    return sniff
