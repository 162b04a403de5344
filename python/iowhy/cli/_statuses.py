"""The exit statuses of all commands; `docs/using.md` and `iowhy --help` say the same."""

DONE = 0
NO = 1
"""The question has an answer, and it is no: damaged, slower, or not found."""

PROBLEM = 2
"""It could not be done; one line on stderr says why and names the way out."""

BROKEN = 3
"""CMD itself succeeded, and an expectation of its run was not kept."""

INTERRUPTED = 130
"""Ctrl-C: 128 + SIGINT, as shells give it."""

EPILOG = (
    "Exit status: 0 done; 1 the answer is no (check, fleet check: damaged; compare: slower than allowed; doctor: no "
    "eBPF; lab verify: a cause not found); 2 it could not be done, and one line on stderr says why; 3 an --expect was broken; 130 ended by "
    "Ctrl-C. `iowhy run CMD` ends as CMD does: with its status, or 128 + the signal that ended it."
)
