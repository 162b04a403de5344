"""A page for others' eyes: paths, arguments, host and user names as tokens, the same one for the same name.

Tokens are numbers in the order of the recording's names, not hashes: of a hash a name can be guessed and tried.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from iowhy.invocation import joined, typed
from iowhy.recordings import Recording
from iowhy.tables import budget_classes, calls, reasons
from iowhy.whys.facts.locked import cut
from iowhy.whys.program import programs as programs_with_remedies

#: What stands for the recording itself.
RECORDING = "REC.iowhy"

# A quoted or bare path; what ends a sentence is no part of it.
# Addresses of documentation stay, but for words of theirs that are names.
_PATH = re.compile(
    r"(?<![\w.\-])(?<!https:)(?<!https:/)~?(?:/[^\s/'\"`,;:()<>|]+)+/?|(?<![\w.\-])\.{1,2}/[^\s'\"`,;:()<>|]+"
)
_WORD = re.compile(r"[^\s/'\"`,;:()<>|=]+")
#: Directories of every machine, and words of our own sentences, tell nothing.
_COMMON = """
bin boot dev etc home lib lib64 media mnt opt proc root run sbin srv sys tmp usr var local share self fd
iowhy sudo run why report experiment compare diagnose REC CMD a an and as at before behind below by call calls
data device devices disk each ends file files flush flushes for from has in into is it its journal log made mean
metadata more most no not of on once one or others out own path paths pages read reads record recorded request
requests share sync syncs than that the them then they thread threads time times to until wait waits were what
when where which while who with write writes
"""

#: Programs of every machine: their names tell nothing of who uses them, and a remedy is for them.
_EVERYWHERE = """
ash awk bash bc bzip2 cat cc1 cc1plus chmod chown clang collect2 cut dash df diff dnf du echo egrep env expr fgrep file find findmnt
g++ gawk gcc go grep head id ld ln ls lsblk lua lz4 mawk md5sum mkdir mount mv nice nodejs openssl perl php pv python python2 ruby
rm rmdir scp sed seq sha256sum sh sleep sort split ssh sshd stat su sudo sync systemd systemd-journal systemd-udevd tail taskset tee
test time timeout touch tr true truncate umount uname uniq unzip vi vim wc wget curl which xargs yes zcat zip zsh apt apt-get as cron
main worker server thread pool
"""
#: Threads of the kernel: each machine has them (Documentation/admin-guide/kernel-parameters.txt and ps -ef); what follows
#: a slash or a number names devices, which stay.
_KERNEL = re.compile(
    r"(kworker|jbd2|kswapd|kdamond|kcompactd|khugepaged|ksoftirqd|migration|rcu_|xfs|xfsaild|btrfs|loop\d|md\d|dm|kdmflush|"
    r"nvme|scsi_|iou-(wrk|sqp)|ext4|kthreadd|writeback|kauditd|kblockd|usb-storage|zvol|z_|txg_)[-\w/:+.]*"
)


class Redactor:
    """Replaces names in texts. `say` is what a page calls for each of its texts."""

    def __init__(
        self,
        paths: Iterable[str],
        words: Iterable[tuple[str, str]],
        phrases: Sequence[tuple[str, str]] = (),
        commands: Sequence[Sequence[str]] = (),
        programs: Iterable[str] = (),
    ) -> None:
        """`words` are (kind, name), each kind numbered separately; `phrases` are texts and what replaces them.

        `commands` are in sentences as they are typed: their programs' paths and arguments are tokens there. `programs` are names
        of processes and threads: those that are not on every machine, and for which there are no remedies, are tokens.
        """
        self._whole: dict[str, str] = {}
        self._words: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        for path in sorted(set(paths)):
            token = self._token("path", path)
            self._each_word(path, token)
        for kind, name in words:
            self._each_word(name, self._token(kind, name))
        told = self._programs(programs, commands)
        for argv in commands:
            # A command of one word was given to a shell.
            parts = argv[0].split() if len(argv) == 1 else argv
            arguments = [self._token("arg", word) for word in parts[1:]]
            for word, token in zip(parts[1:], arguments, strict=True):
                self._each_word(word, token)
            command = " ".join(
                [*(self._program(Path(word).name) for word in parts[:1]), *arguments]
            )
            told += [(joined(argv), command), (" ".join(argv), command)]
        self._whole.update(phrases)
        # The longest first: one may be a part of another.
        self._phrases = sorted([*told, *phrases], key=lambda one: -len(one[0]))

    def say(self, text: str) -> str:
        """The text with tokens in place of names."""
        whole = self._whole.get(text)
        if whole is not None:
            return whole
        for phrase, token in self._phrases:
            text = text.replace(phrase, token) if phrase else text
        text = _PATH.sub(lambda found: self._path(found[0]), text)
        return _WORD.sub(lambda found: self._of_word(found[0]), text)

    def _programs(
        self, programs: Iterable[str], commands: Sequence[Sequence[str]]
    ) -> list[tuple[str, str]]:
        """Takes note of their names; those of several words are phrases."""
        typed_ = [Path(word).name for argv in commands for word in argv[:1] if not word.count(" ")]
        phrases = []
        for name in dict.fromkeys([*typed_, *sorted(set(programs))]):
            token = self._program(name)
            if token == name:
                continue
            program, *title = name.split(" ")
            # Words of a title that are plain ones are of sentences, too.
            words = [word for word in title if not word.isalpha()]
            if title and program.rstrip(":") in _public():
                self._whole[name] = f"{program} {token}"
            else:
                words.append(program)
            for word in words:
                self._each_word(word, token)
            if not _WORD.fullmatch(name):
                phrases.append((name, self._whole[name]))
        return phrases

    def _program(self, name: str) -> str:
        """What replaces a program: its own name where everybody has it."""
        if name in _public() or _KERNEL.fullmatch(name) or not name.strip("0123456789-/: "):
            return name
        for known, token in self._whole.items():
            # The kernel keeps 15 characters of a name (TASK_COMM_LEN).
            if known[:15] == name and token.startswith("program-"):
                return self._whole.setdefault(name, token)
        return self._token("program", name)

    def _path(self, text: str) -> str:
        bare = text.rstrip(".")
        return self._token("path", bare) + text[len(bare) :]

    def _of_word(self, word: str) -> str:
        bare = word.rstrip(".")
        known = self._words.get(bare)
        return word if known is None else known + word[len(bare) :]

    def _each_word(self, name: str, token: str) -> None:
        for word in _WORD.findall(name):
            bare = word.rstrip(".")
            if len(bare) > 1 and not bare.isdecimal() and bare not in _ours():
                self._words.setdefault(bare, token)

    def _token(self, kind: str, name: str) -> str:
        known = self._whole.get(name)
        if known is None:
            number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
            known = self._whole[name] = f"{kind}-{number}"
        return known


@cache
def _public() -> frozenset[str]:
    """Names of programs that stay: those of every machine, and those for which there are remedies."""
    named = [*_EVERYWHERE.split()]
    for one in programs_with_remedies():
        named += [*one.names, *(name for name in one.clients if "/" not in name), *one.server]
    return frozenset(name[:15] for name in named) | frozenset(named)


@cache
def _ours() -> frozenset[str]:
    """Words that the product itself uses."""
    classes = {word for one in budget_classes().values() for word in one.name.split()}
    return frozenset({*_COMMON.split(), *calls(), *reasons(), *classes})


def redactor_of(
    recordings: Sequence[Recording],
    paths: Iterable[str],
    labels: Sequence[str] = (),
    programs: Iterable[str] = (),
    peers: Iterable[str] = (),
    statements: Iterable[str] = (),
) -> Redactor:
    """For one recording or several that are compared; `paths` are those of their files, `labels` what they are called.

    `programs` are the names of processes and threads in them, `peers` the addresses that they connect to,
    `statements` what databases ran, and their tables.
    """
    named: list[tuple[str, str | None]] = []
    phrases = [(label, f"recording-{number}") for number, label in enumerate(labels, 1)]
    phrases += [(peer, f"peer-{number}") for number, peer in enumerate(dict.fromkeys(peers), 1)]
    for number, text in enumerate(dict.fromkeys(statements), 1):
        phrases += [(said, f"statement-{number}") for said in dict.fromkeys((text, cut(text)))]
    commands = []
    for one in recordings:
        command, host = one.manifest.command, one.manifest.host
        named += [("user", command.user), ("host", host.name), ("path", command.cwd)]
        named += [("path", word) for word in command.argv[:1] if "/" in word]
        named += [("path", path) for path in (str(one.path), str(one.path.resolve()))]
        phrases.append((typed(one.path), RECORDING))
        commands.append(command.argv)
    words = [(kind, name) for kind, name in named if name]
    return Redactor(paths, words, phrases, commands, programs)
