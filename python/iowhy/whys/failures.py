"""What failed, in words: whoever asks why a run was slow must hear that it did not do its work."""

from iowhy.units import count, duration
from iowhy.whys.facts import Facts
from iowhy.whys.facts.failed import Failed

#: By the error's number: its name, what it says, and where to look.
_WORDS = {
    5: ("EIO", "the storage did not do it", "journalctl -k says what the device or the server answered"),
    23: ("ENFILE", "the machine has too many files open", "sysctl fs.file-max"),
    24: ("EMFILE", "too many files are open", "ulimit -n"),
    27: ("EFBIG", "the file may not be so large", "ulimit -f, or what the filesystem can hold"),
    28: ("ENOSPC", "no space is left", "df -h has its blocks, df -i its inodes"),
    30: ("EROFS", "nothing can be written there", "findmnt shows how it is mounted, journalctl -k whether an error made it so"),
    110: ("ETIMEDOUT", "the server did not answer in time", "its own log, and its mount options (soft, timeo)"),
    116: ("ESTALE", "the server has no such file any more", "somebody else took it away, or it was exported again"),
    117: ("EUCLEAN", "the filesystem is damaged", "journalctl -k, and fsck while it is not mounted"),
    122: ("EDQUOT", "the quota is used up", "quota shows what is left"),
}  # fmt: skip


def failures(facts: Facts) -> tuple[str, ...]:
    """A sentence for each error that storage gave, the last one first."""
    return tuple(_sentence(one) for one in facts.failed)


def _sentence(one: Failed) -> str:
    name, words, look = _WORDS[one.error]
    where = "" if one.of_filesystem is None else f" on {one.of_filesystem}"
    calls = "" if one.calls == 1 else f"{count(one.calls)} calls, the last "
    on = "" if one.path is None else f" of {one.path}"
    return (
        f"{one.name}{on} failed: {words}{where} ({name}; {calls}{duration(max(0, one.ago_ns))} before the end). "
        f"Look: {look}."
    )
