"""Numbers as people of the field read them: 4 KiB, 12.3 ms, 31 %."""

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_BYTES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def duration(ns: float | None) -> str:
    """Nanoseconds with three significant digits: 1.23 s, 45.6 ms; minutes from 120 s on."""
    if ns is None:
        return "unknown"
    if abs(ns) >= 120e9:
        minutes, seconds = divmod(round(ns / 1e9), 60)
        return f"{minutes} min {seconds} s"
    for scale, unit in _TIMES:
        if abs(ns) >= scale:
            return f"{three_digits(ns / scale)} {unit}"
    return "0 s" if ns == 0 else f"{ns:.2f} ns"


def size(count: float | None) -> str:
    """Bytes with binary prefixes."""
    if count is None:
        return "unknown"
    for scale, unit in _BYTES:
        if abs(count) >= scale:
            return f"{three_digits(count / scale)} {unit}"
    return f"{count:.0f} B"


def rate(bytes_per_s: float | None) -> str:
    """Bytes per second in MB/s, the unit of device data sheets."""
    if bytes_per_s is None:
        return "unknown"
    return f"{three_digits(bytes_per_s / 1e6)} MB/s"


def inode(number: float | None) -> str:
    """A file without a known name, by what a recording knows it by (`ino` of its tables)."""
    if number is None:
        return "inode unknown"
    known = f"{number:.0f}"
    return f"inode {known}" if number >= 0 else f"file {known} (its inode was another's before)"


def count(number: float | None) -> str:
    """A count with thousands separated."""
    return "unknown" if number is None else f"{number:,.0f}"


def plural(number: float, one: str, many: str | None = None) -> str:
    """`1 file`, `2 files`."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def percent(share: float | None) -> str:
    """A share in percent; below 10 % with one digit."""
    if share is None:
        return "unknown"
    value = share * 100
    return f"{value:.1f} %" if 0 < abs(value) < 9.95 else f"{value:.0f} %"


def amount(value: float | None, unit: str) -> str:
    """A value of a measure by its unit: count, ns, bytes or share."""
    if unit == "ns":
        return duration(value)
    if unit == "bytes":
        return size(value)
    return percent(value) if unit == "share" else count(value)


def three_digits(value: float) -> str:
    """With three significant digits, without zeros at the end."""
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
