"""Process ids as people type them: `-p 4711`, `-p 1,2`, `-p 1 -p 2`."""

from typing import Any

from iowhy.errors import Problem
from iowhy.options.described import option

MOST = 2**22  # the kernel's own limit for pid_max (include/linux/threads.h)


def process_ids(option: str, text: str) -> tuple[int, ...]:
    """One or several ids, separated by commas or blanks. Raises Problem for what is none."""
    found = []
    for word in text.replace(",", " ").split() or [text]:
        if not (word.isascii() and word.isdecimal()) or not 0 < int(word) <= MOST:
            raise Problem("not-a-process-id", option=option, word=word)
        found.append(int(word))
    return tuple(dict.fromkeys(found))


def pids_given(help_: str) -> Any:
    """`-p`, which means processes in every command that has it; `help_` says what becomes of them."""
    return option("-p", "--pid", default=(), metavar="PID,…", read=process_ids, help=help_)
