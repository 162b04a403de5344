"""What failed, in words: whoever asks why a run was slow must hear that it did not do its work."""

from iowhy.sentences import Sentence, worded
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


def failures(facts: Facts) -> tuple[Sentence, ...]:
    """A sentence for each error that storage gave, the last one first."""
    return tuple(_sentence(one) for one in facts.failed)


def _sentence(one: Failed) -> Sentence:
    name, words, look = _WORDS[one.error]
    return worded(
        "failed",
        "{call}"
        + ("" if one.path is None else " of {path}")
        + " failed: {words}"
        + ("" if one.of_filesystem is None else " on {filesystem}")
        + " ({error}; "
        + ("" if one.calls == 1 else "{calls:count} calls, the last ")
        + "{ago:ns} before the end). Look: {look}.",
        call=one.name,
        path=one.path,
        words=words,
        filesystem=one.of_filesystem,
        error=name,
        calls=one.calls,
        ago=max(0, one.ago_ns),
        look=look,
    )
