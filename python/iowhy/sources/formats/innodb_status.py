"""MySQL's SHOW ENGINE INNODB STATUS: reads, writes and fsyncs a second, what is pending, the log, the buffer pool.

MySQL's manual, "InnoDB Standard Monitor". Rates are means over the seconds that its head names; totals are since the server
began. Pending counts are of the moment.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import number

NAME = "innodb-status"
TOOL = "InnoDB status"
HINT = r"^\d\S+ \S+ (?:\S+ )?INNODB MONITOR OUTPUT|^Log sequence number\s+\d|^\d+ pending log (?:flushes|writes),|^Pending (?:flushes \(fsync\)|normal aio reads:)|^\d+ OS file reads, |^Per second averages calculated from the last"
SURE = 0.95
BEGINS = ".*MONITOR"

_SECONDS = re.compile(r"Per second averages calculated from the last (\d{1,9}) seconds?")
#: What a line says → (pattern, metrics of its groups).
_LINES = (
    (re.compile(r"(\d+) OS file reads, (\d+) OS file writes, (\d+) OS fsyncs"), ("os_reads", "os_writes", "os_fsyncs")),
    (
        re.compile(r"([\d.]+) reads/s, (\d+) avg bytes/read, ([\d.]+) writes/s, ([\d.]+) fsyncs/s"),
        ("reads_per_s", "read_mean_bytes", "writes_per_s", "fsyncs_per_s"),
    ),
    (
        re.compile(r"Pending flushes \(fsync\) log: (\d+); buffer pool: (\d+)"),
        ("pending_log_fsyncs", "pending_pool_fsyncs"),
    ),
    (re.compile(r"(\d+) pending log (?:flushes|writes), (\d+) pending chkp writes"), ("pending_log_writes", "pending_checkpoint_writes")),
    (re.compile(r"(\d+) log i/o's done, ([\d.]+) log i/o's/second"), ("log_ios", "log_ios_per_s")),
    (re.compile(r"Modified db pages\s+(\d+)"), ("modified_pages",)),
    (re.compile(r"Pending reads\s+(\d+)"), ("pending_reads",)),
    (re.compile(r"Pending writes: LRU (\d+), flush list (\d+)(?:, single page (\d+))?"), ("pending_lru_writes", "pending_flush_list_writes", "pending_page_writes")),
    (re.compile(r"Buffer pool hit rate (\d+) / 1000,.*"), ("buffer_pool_hit_share",)),
    (re.compile(r"Log sequence number\s+(\d+)"), ("log_sequence_bytes",)),
    (re.compile(r"Last checkpoint at\s+(\d+)"), ("checkpoint_bytes",)),
)  # fmt: skip
#: A line that has one of these and is none of the above was cut, wrapped or damaged.
_READ = re.compile(
    r"\bOS (?:file|fsyncs)|avg bytes|fsyncs/s|\bPending (?:normal|flushes|reads|writes)|\bpending (?:log|chkp)|log i/o's(?: done|/second)"
    r"|\bModified db|Buffer pool hit|Log sequence|Last checkpoint|Per second averages"
)
_AIO = re.compile(
    r"Pending normal aio reads: ?(?:\d+ ?)?(?:\[([\d, ]*)\])? ?, aio writes: ?(?:\d+ ?)?(?:\[([\d, ]*)\])?(?!.*\[[^]]*$).*"
)
_FLUSHING = re.compile(
    r"(?:Main thread|.*Main thread ID=\S+).*state ?[:=] ?(flushing log|making checkpoint|flushing buffer pool pages).*"
)


def read(block: Block) -> Parsed:
    """Into measurements of "InnoDB"; transactions, locks and the like are passed over. The buffer pools' sum counts."""
    parsed = Parsed(TOOL, units="per second; counts; bytes")
    found: dict[str, float] = {}
    # Prose of transactions and locks may be anything: it belongs to the report up to its end.
    for at, line in parsed.lines(block):
        text = line.strip()
        if match := _SECONDS.match(text):
            found.setdefault("averaged_s", float(match[1]))
        elif match := _AIO.fullmatch(text):
            for name, cells in (("pending_aio_reads", match[1]), ("pending_aio_writes", match[2])):
                if cells:
                    found.setdefault(
                        name, float(sum(int(n[:12]) for n in re.findall(r"\d+", cells)))
                    )
        elif match := _FLUSHING.fullmatch(text):
            parsed.note(f"InnoDB's main thread is {match[1]}")
        elif not _line(found, text) and _READ.search(text):
            parsed.reject(at, line)
    for metric, value in found.items():
        if metric not in {"log_sequence_bytes", "checkpoint_bytes"}:
            parsed.measure("InnoDB", metric, value / 1000 if metric.endswith("_share") else value)
    _say(parsed, found)
    return parsed


def _line(found: dict[str, float], text: str) -> bool:
    """Whether it is one that is read."""
    for pattern, metrics in _LINES:
        match = pattern.fullmatch(text)
        if match is None:
            continue
        values = [None if cell is None else number(cell) for cell in match.groups()]
        for metric, value in zip(metrics, values, strict=True):
            if value is not None:
                found.setdefault(metric, value)
        return True
    return False


def _say(parsed: Parsed, found: dict[str, float]) -> None:
    """What is done and waits now; and how far the log is ahead of the checkpoint."""
    seconds = found.get("averaged_s", 0.0)
    if seconds and "fsyncs_per_s" in found:
        parsed.note(
            f"InnoDB does {found['fsyncs_per_s']:,.3g} fsyncs, {found.get('writes_per_s', 0):,.3g} writes and "
            f"{found.get('reads_per_s', 0):,.3g} reads a second, in the last {seconds:,.0f} s"
        )
    waiting = {
        "pending_log_fsyncs": "syncs of the log",
        "pending_log_writes": "writes of the log",
        "pending_pool_fsyncs": "syncs of tables",
        "pending_reads": "reads of pages",
        "pending_aio_reads": "asynchronous reads",
        "pending_aio_writes": "asynchronous writes",
    }
    signs = [
        f"{words} ({found[name]:,.0f})" for name, words in waiting.items() if found.get(name, 0) > 0
    ]
    if signs:
        parsed.note(f"pending in InnoDB at that moment: {', '.join(signs)}")
    log, checkpoint = found.get("log_sequence_bytes"), found.get("checkpoint_bytes")
    if log is not None and checkpoint is not None and log >= checkpoint:
        parsed.measure("InnoDB", "checkpoint_age_bytes", log - checkpoint)
    parsed.missing.append("strace -f -T -e trace=fsync,fdatasync -p $(pidof mysqld)")
