"""Which process is meant: a pid alone is reused, a pid with its start time is not."""

from pathlib import Path


def start_ticks(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot, None when it does not exist.

    Field 22 of /proc/PID/stat (proc_pid_stat(5)); the name in field 2 may hold blanks and
    parentheses, so fields are counted from the last closing one.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text[text.rfind(")") + 1 :].split()
    return int(fields[19]) if len(fields) > 19 else None


def is_zombie(pid: int) -> bool:
    """Whether the process has ended and only waits to be reaped (or does not exist)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return True
    fields = text[text.rfind(")") + 1 :].split()
    return not fields or fields[0] in ("Z", "X")


def boot_id() -> str:
    """Identity of this boot, so that a journal from before a restart is known as such."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def marked(variable: str, value: str) -> list[int]:
    """Processes whose first environment holds ``variable=value`` (only those we may read)."""
    needle = f"{variable}={value}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue
        if needle in environment.split(b"\0"):
            found.append(int(folder.name))
    return found
