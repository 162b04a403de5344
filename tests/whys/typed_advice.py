"""Each kind of command that a verdict prints: the test that types one as printed, or why none can.

A kind is the subcommand with the options that decide what it does; names, numbers and commands are the reader's.
"""

from collections.abc import Sequence

from iowhy.cli import experiment
from iowhy.commands.experiment import split
from iowhy.options.parser import parse

_PROOFS = "tests/live/test_proofs.py"
_ADVICE = "tests/live/test_advice.py"
_RUN = "tests/views/test_advice_runs.py"
_USING = "docs/using.md"

#: The file of the test, and words by which it is there.
TYPED = {
    "experiment cpu-quota": (_ADVICE, "_COMPUTES"),
    "experiment sync-free --allow-unsafe": (_ADVICE, "sync-free"),
    "experiment io-contention": (_PROOFS, '"io-contention"'),
    "experiment io-unlimited": (_PROOFS, '"io-unlimited"'),
    "experiment fast-device": (_PROOFS, '"fast-device"'),
    "experiment preallocate": (_PROOFS, '"preallocate"'),
    "experiment cache-warm": (_PROOFS, '"cache-warm"'),
    "experiment memory-unlimited": (_PROOFS, '"memory-unlimited"'),
    "report": (_RUN, "report"),
    "why": (_RUN, "why"),
    "html": (_RUN, "html"),
    "sql": (_RUN, "sql"),
    # What pages give to type tests/live/test_typed.py types, of processes of its own.
    "run -p": (_USING, "iowhy run --sudo -p"),
    "run -a": (_USING, "iowhy run --sudo -a --duration"),
}
#: By the reason.
NOT_TYPED = {
    "experiment memory-limit": "of a machine short of memory, which no test makes of the one that it runs on; "
    "the lever: tests/live/test_experiment.py",
    "experiment cache-warm --cache cold-machine": "it empties the machine's memory of all names and pages, others' too",
    "run": "the command itself a second time: what a test types first to have a recording is the same",
    "compare": "of two recordings of a server before and after its reader changed it; tests/compare, tests/docs compare others",
}


def kind(words: Sequence[str]) -> str:
    """The kind of a command line, from its subcommand on."""
    name, *rest = words
    if name == "experiment":
        options = parse(experiment.Options, rest, experiment.is_ours)
        levers, _ = split(options.words)
        unsafe = ["--allow-unsafe"] if "--allow-unsafe" in rest else []
        cache = ["--cache", rest[rest.index("--cache") + 1]] if "--cache" in rest else []
        return " ".join([name, *levers, *unsafe, *cache])
    of = (
        next((word for word in rest if word in ("-p", "-a", "--")), "--") if name == "run" else "--"
    )
    return name if of == "--" else f"{name} {of}"
