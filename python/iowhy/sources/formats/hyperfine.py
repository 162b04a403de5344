"""`hyperfine --export-json`: times of commands, in seconds."""

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._json import items, mapping, real, value_of

NAME = "hyperfine"
LONG_LINES = True
HINT = r'^\s*\{\s*(?:$|"results")'

METRICS = {
    "mean": "mean_s", "stddev": "stddev_s", "median": "median_s", "user": "cpu_user_s",
    "system": "cpu_kernel_s", "min": "min_s", "max": "max_s",
}  # fmt: skip
SURE = 0.95
BEGINS = ""
FIRST = (r'[\s\S]*"results"[\s\S]*"command"', 8)


def read(block: Block) -> Parsed:
    """Into measurements: subject is the command (with its parameters)."""
    parsed = Parsed(NAME, units="seconds")
    value = mapping(value_of(block, parsed))
    for result in items(value.get("results")):
        row = mapping(result)
        subject = str(row.get("command", "command"))[:1000]
        for key, metric in METRICS.items():
            parsed.measure(subject, metric, real(row.get(key)))
        for time in items(row.get("times")):
            parsed.measure(subject, "run_s", real(time))
        failed = [code for code in items(row.get("exit_codes")) if code not in (0, None)]
        if failed:
            parsed.note(f"{len(failed)} runs of {subject!r} failed")
    return parsed
