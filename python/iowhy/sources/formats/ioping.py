"""ioping: how long single requests to a device or folder take, one after the other."""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _lines

NAME = "ioping"
HINT = (
    r"^\d[\d.]* \w*B? ?(?:<<<|>>>|from|to) \S.*: request=\d+ time=|^--- \S.* ioping statistics ---"
)

_AMOUNT = r"([\d.]+ (?:ns|us|ms|s|min))"
_LINES = (
    re.compile(r"^--- (?P<subject>\S+).* ioping statistics ---"),
    re.compile(r"^[\d.]+ k? ?requests completed in .*?, (?P<requests_per_s>[\d.]+) iops"),
    re.compile(rf"^min/avg/max/mdev = (?P<request_min_took>{_AMOUNT}) / (?P<request_mean_took>{_AMOUNT}) / (?P<request_max_took>{_AMOUNT}) /"),
    re.compile(rf"(?:<<<|>>>|from|to) (?P<subject>\S+).*: request=\d+ time=(?P<request_took>{_AMOUNT})"),
)  # fmt: skip
_PASSED = re.compile(r"^generated |^$")


def read(block: Block) -> Parsed:
    """Into measurements of the device or folder."""
    return _lines.read(block, NAME, _LINES, _PASSED)
