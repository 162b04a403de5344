"""`perf stat`: counts of one command, or of the system, and how long it took.

Manual: perf-stat(1). task-clock is the CPU time of all its threads, in msec; "seconds user" and "seconds sys" are of the
command and its children. CPU time less than what elapsed is time that it did not run: waiting, or idle.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import number

NAME = "perf-stat"
TOOL = "perf stat"
HINT = r"^\s*Performance counter stats for"

_TITLE = re.compile(r"\s*Performance counter stats for (.{1,400}?)(?: \(\d+ runs\))?:\s*")
_COUNT = re.compile(
    r"\s*(<not (?:supported|counted)>|[\d.,]{1,30})\s+(?:(msec)\s+)?([A-Za-z][\w:.*/=-]{1,80})(?: \((msec)\))?(?:\s+(?:#.*|\[.*|\(.*|\+-.*))?\s*"
)
_TIME = re.compile(r"\s*([\d.,]{1,24}) (?:\+- [\d.,]+ )?seconds (time elapsed|user|sys)(?:\s.*)?")
_METRICS = {
    "task-clock": "cpu_ns",
    "cpu-clock": "cpu_ns",
    "context-switches": "context_switches",
    "cs": "context_switches",
    "cpu-migrations": "cpu_migrations",
    "CPU-migrations": "cpu_migrations",
    "page-faults": "page_faults",
    "faults": "page_faults",
    "major-faults": "major_faults",
}
SURE = 0.95
BEGINS = ""
NEAR = (f"^{_TITLE.pattern}$", 1)


def read(block: Block) -> Parsed:
    """Into measurements: subject is the command; `on_cpu_share` where one CPU is not exceeded."""
    parsed = Parsed(TOOL, units="msec, seconds, counts")
    subject = "the command"
    found: dict[str, float] = {}
    for at, line in parsed.lines(block):
        if match := _TITLE.fullmatch(line):
            subject = match[1].strip("'")[:80]
        elif match := _TIME.fullmatch(line):
            value = _counted(match[1])
            names = {"time elapsed": "elapsed_s", "user": "user_s", "sys": "kernel_s"}
            if value is not None:
                found.setdefault(names[match[2]], value)
        elif match := _COUNT.fullmatch(line):
            name = match[3].removesuffix(":u").removesuffix(":k")
            value = None if match[1].startswith("<") else _counted(match[1])
            if name in _METRICS and value is not None:
                unit = 1e6 if _METRICS[name] == "cpu_ns" else 1.0
                found.setdefault(_METRICS[name], value * unit)
        elif not re.match(r"\s+#|\s*\(|\s*Some events", line):
            parsed.reject(at, line)
    parsed.measures(subject, found)
    _ran(parsed, subject, found)
    return parsed


def _counted(text: str) -> float | None:
    """Counts have separators of thousands ("5,649,595,479"), times have decimals ("1,920.159821")."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", text) and (text.count(",") > 1 or "." in text):
        text = text.replace(",", "")
    return number(text)


def _ran(parsed: Parsed, subject: str, found: dict[str, float]) -> None:
    elapsed, cpu = found.get("elapsed_s"), found.get("cpu_ns")
    if cpu is None and "user_s" in found and "kernel_s" in found:
        cpu = (found["user_s"] + found["kernel_s"]) * 1e9
    if not elapsed or cpu is None:
        return
    used = cpu / 1e9 / elapsed
    parsed.measure(subject, "cpus_used", used)
    if round(100 * used) < 100:  # else there is no rest to speak of, or it had more than one CPU
        parsed.note(
            f"{subject}: on a CPU for {100 * used:.0f} % of {elapsed:,.3g} s; in the rest it did not run, and perf stat does not say why"
        )
        parsed.missing.append("sudo iowhy run -- CMD")
    else:
        parsed.note(f"{subject}: {used:.1f} CPUs on average over {elapsed:,.3g} s")
