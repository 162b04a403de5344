"""`pgbench`: transactions a second, how long they take, and with -r how long each statement of them.

PostgreSQL's manual, "pgbench". Latencies are of whole transactions, as clients see them; END is the commit.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import number

NAME = "pgbench"
HINT = r"^pgbench \(|^transaction type: |^progress: [\d.]+ s, [\d.]+ tps"
BEGINS = "pgbench"

_FACTS = (
    (re.compile(r"scaling factor: (\d+)"), "scale", 1.0),
    (re.compile(r"number of clients: (\d+)"), "clients", 1.0),
    (re.compile(r"duration: (\d+) s"), "duration_s", 1.0),
    (re.compile(r"number of transactions actually processed: (\d+)(?:/\d+)?"), "transactions", 1.0),
    (re.compile(r"number of failed transactions: (\d+).*"), "failed_transactions", 1.0),
    (re.compile(r"latency average(?: =|:) ([\d.]+) ms"), "latency_mean_ns", 1e6),
    (re.compile(r"latency stddev(?: =|:) ([\d.]+) ms"), "latency_deviation_ns", 1e6),
)
_TPS = re.compile(r"tps = ([\d.]+)(?: \((including|excluding|without).*\))?")
_STATEMENT = re.compile(r"\s*([\d.]{1,16})\s+(?:\d{1,12}\s+)?(\\?[A-Za-z].{0,300}?)\s*")
_PROGRESS = re.compile(
    r"progress: ([\d.]+) s, ([\d.]+) tps, lat ([\d.]+|NaN) ms stddev ([\d.]+|NaN)(?:, .*)?"
)
_OTHER = re.compile(
    r"pgbench \(|starting vacuum|transaction type:|query mode:|number of threads:|maximum number|number of transactions per|"
    r"initial connection|average connection|number of transactions|statement latencies|latency|progress:|SQL script|"
    r" ?- |dropping|creating|generating|vacuuming|done|scale option|partition"
)


def read(block: Block) -> Parsed:
    """Into measurements: subject is "pgbench", or "statement: …"; lines of progress with their time."""
    parsed = Parsed(NAME, units="ms, per second")
    run = 0
    statements: dict[str, float] = {}
    listed = False
    for at, line in parsed.lines(block):
        text = line.strip()
        subject = "pgbench" if run <= 1 else f"pgbench #{run}"
        if text.startswith("transaction type:"):
            run, listed = run + 1, False
        elif match := _PROGRESS.fullmatch(text):
            when = number(match[1])
            ts_ns = None if when is None or when > 10**8 else round(when * 1e9)
            parsed.measure("pgbench progress", "transactions_per_s", number(match[2]), ts_ns)
            parsed.measure("pgbench progress", "latency_mean_ns", number(match[3]), ts_ns, 1e6)
        elif match := _TPS.fullmatch(text):
            # Older versions print it twice: with and without the time to connect.
            name = (
                "transactions_per_s"
                if match[2] != "including"
                else "transactions_and_connections_per_s"
            )
            parsed.measure(subject, name, number(match[1]))
        elif _fact(parsed, subject, text):
            pass
        elif "statement latencies" in text:
            listed = True
        elif (
            listed
            and (match := _STATEMENT.fullmatch(text))
            and (value := number(match[1])) is not None
        ):
            name = match[2].rstrip(";")[:60]
            statements[name] = statements.get(name, 0.0) + value
            parsed.measure(f"statement: {name}", "latency_mean_ns", value * 1e6)
        elif not _OTHER.match(text):
            parsed.reject(at, line)
    _commit(parsed, statements)
    return parsed


def _fact(parsed: Parsed, subject: str, text: str) -> bool:
    for pattern, metric, unit in _FACTS:
        if match := pattern.fullmatch(text):
            parsed.measure(subject, metric, number(match[1]), unit=unit)
            return True
    return False


def _commit(parsed: Parsed, statements: dict[str, float]) -> None:
    whole = sum(statements.values())
    end = statements.get("END", statements.get("COMMIT"))
    if whole > 0 and end is not None:
        parsed.measure("pgbench", "commit_share", end / whole)
        parsed.note(
            f"pgbench: {100 * (end / whole):.0f} % of a transaction's {whole:,.3g} ms are its commit (END)"
        )
    elif not statements:
        parsed.missing.append("pgbench -r -T 10")
