"""mongostat: operations of a MongoDB, how full its cache is, what waits.

Manual: mongostat. WiredTiger lets clients write out pages themselves from 20 % of dirty pages on, or 95 % used.
"""

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import number

NAME = "mongostat"
HINT = r"^\s*(?:host\s+)?insert\s+query\s+update\s+delete\s+getmore\s+command\s+dirty"

_SHARES = {"dirty": "cache_dirty_share", "used": "cache_used_share"}
_COUNTS = {"flushes": "flushes"}
_PAIRS = {"qrw": ("waiting_reads", "waiting_writes"), "qr|qw": ("waiting_reads", "waiting_writes"),
          "arw": ("active_reads", "active_writes"), "ar|aw": ("active_reads", "active_writes")}  # fmt: skip
STALLS = 0.2


def read(block: Block) -> Parsed:
    """Into measurements of MongoDB, means over the rows."""
    parsed = Parsed(NAME, units="a second; shares of the cache")
    columns: list[str] = []
    dirty: list[float] = []
    for at, line in parsed.lines(block):
        words = line.split()
        if "dirty" in words:
            columns = words
        elif not columns or len(words) < columns.index("dirty") + 2:
            parsed.reject(at, line)
        else:
            for name, word in zip(columns, words, strict=False):
                value = number(word.strip("*%"))
                if name in _SHARES and value is not None:
                    parsed.measure("MongoDB", _SHARES[name], value / 100)
                    dirty += [value / 100] if name == "dirty" else []
                elif name in _COUNTS:
                    parsed.measure("MongoDB", _COUNTS[name], value)
                elif name in _PAIRS and word.count("|") == 1:
                    for metric, cell in zip(_PAIRS[name], word.split("|"), strict=True):
                        parsed.measure("MongoDB", metric, number(cell))
    if dirty and max(dirty) >= STALLS:
        parsed.note(
            f"{100 * max(dirty):.0f} % of MongoDB's cache is dirty: from 20 % on, clients write out pages themselves"
        )
    return parsed
