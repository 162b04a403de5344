"""Titles of processes: what they wrote over their arguments, as readings/src/titles.rs has it (both are tried with the same cases)."""

from pathlib import Path

_READ = 512
_KEPT = 100


def title(cmdline: bytes, comm: str) -> str | None:
    """The title that the file cmdline of a process has; `comm` is the name of its first thread."""
    text = cmdline.rstrip(bytes(range(33)))
    if not text or b"\0" in text:
        return None
    whole = text.decode(errors="backslashreplace")
    last = whole.rsplit("/", 1)[-1]
    if whole[0] in "/." and last.encode()[:15] == comm.encode():
        return None
    first, *others = whole.split()
    words = [first.rsplit("/", 1)[-1]]
    for word in others:
        if _is_argument(word):
            break
        words.append(word)
    return " ".join(words)[:_KEPT] if len(words) > 1 and not _is_argument(words[0]) else None


def name_of(pid: int, proc: Path = Path("/proc")) -> str:
    """The title of a process, else its name. Raises OSError without either."""
    comm = (proc / str(pid) / "comm").read_text("utf-8", "replace").rstrip("\n")
    with (proc / str(pid) / "cmdline").open("rb") as file:
        return title(file.read(_READ), comm) or comm


def _is_argument(word: str) -> bool:
    bare = word.lstrip("([{<\"'")
    return bare.startswith(("-", "/", "~", "./")) or "=" in bare
