"""`iowhy.toml`: what is expected of a project's commands, for everybody who runs them there.

baseline = "io-baseline.json"             # next to this file
expect = ["cause sync-storm < 20 %"]      # of every command

[[command]]
run = "./load *"                          # as it is typed, with whatever words follow, or none
expect = ["sync_calls <= 10"]
"""

import re
import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.expect.expectation import Expectation, read_expectation
from iowhy.invocation import joined
from iowhy.project_file import NAME

_MOST_BYTES = 1 << 20
_KEYS = ("baseline", "expect", "command")
_COMMAND_KEYS = ("run", "expect")
_SHELLS = ("sh", "bash", "dash", "ash", "ksh", "zsh")
_LONG_WITH_FILE = ("--rcfile", "--init-file")


class Budget(Struct, frozen=True):
    """What is expected of the commands that `pattern` fits."""

    pattern: str
    expected: tuple[Expectation, ...]

    def fits(self, typed: str) -> bool:
        """Whether it is for what was typed: a blank and a star at the end mean any further words, or none."""
        return fnmatchcase(typed, self.pattern) or (
            self.pattern.endswith(" *") and fnmatchcase(typed, self.pattern.removesuffix(" *"))
        )


class Project(Struct, frozen=True):
    """What an iowhy.toml says: `always` of every command, `budgets` of the commands that they fit."""

    path: Path
    baseline: Path | None
    always: tuple[Expectation, ...]
    budgets: tuple[Budget, ...]

    def expected(self, argv: Sequence[str], name: str | None = None) -> tuple[Expectation, ...]:
        """What is expected of a command, which may have been given a name; in the order of the file."""
        fitting = self._fitting(argv, name)
        return self.always + tuple(one for budget in fitting for one in budget.expected)

    def knows(self, argv: Sequence[str], name: str | None = None) -> bool:
        """Whether one of the `[[command]]` is for it, or there are none at all."""
        return not self.budgets or bool(self._fitting(argv, name))

    def _fitting(self, argv: Sequence[str], name: str | None) -> list[Budget]:
        texts = [joined(argv), *shell_text(argv)]
        if name is not None:
            texts.append(name.strip())
        return [budget for budget in self.budgets if any(map(budget.fits, texts))]


def shell_text(argv: Sequence[str]) -> list[str]:
    """What a shell is given by `-c`, as in `bash -euo pipefail -c './load 5'`; of no other command anything."""
    if not argv or Path(argv[0]).name not in _SHELLS:
        return []
    words = iter(argv[1:])
    by_c = False
    for word in words:
        if word[:1] not in ("-", "+") or word in ("-", "--"):
            text = next(words, "") if word in ("-", "--") else word
            return [text.strip()] if by_c and text.strip() else []
        if word.startswith("--"):
            if word in _LONG_WITH_FILE:
                next(words, None)
            continue
        by_c = by_c or (word[0] == "-" and "c" in word)
        for letter in word[1:]:
            if letter in "oO":  # its own word says which: -o pipefail
                next(words, None)
    return []


def read_project(path: Path) -> Project:
    """What the file says. Raises Problem that names the file, the line and the key."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise Problem("cannot-read", path=path, error=error.strerror or error) from None
    if len(data) > _MOST_BYTES:
        raise Problem("project-file-too-large", path=path, name=NAME)
    try:
        text = data.decode("utf-8")
        made = tomllib.loads(text)
    except UnicodeDecodeError:
        raise Problem("project-not-text", path=path) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Problem("not-toml", path=path, error=error) from None
    return _Reader(path, text).project(made)


class _Reader(Struct, frozen=True):
    path: Path
    text: str

    def project(self, made: dict[str, Any]) -> Project:
        self._known(made, _KEYS)
        always = self._expected(made)
        budgets = []
        commands = made.get("command", [])
        if not isinstance(commands, list) or not all(isinstance(one, dict) for one in commands):
            raise Problem("project-command-not-a-list", where=self._where("command"))
        for one in commands:
            self._known(one, _COMMAND_KEYS)
            pattern = one.get("run")
            if not isinstance(pattern, str) or not pattern:
                raise Problem("project-command-without-run", where=self._where("command"))
            budgets.append(Budget(pattern, self._expected(one)))
        return Project(self.path, self._baseline(made), always, tuple(budgets))

    def _known(self, made: dict[str, Any], keys: Sequence[str]) -> None:
        for key in made:
            if key not in keys:
                known = ", ".join(keys)
                raise Problem("project-key-unknown", where=self._where(key), known=known)

    def _expected(self, made: dict[str, Any]) -> tuple[Expectation, ...]:
        texts = made.get("expect", [])
        if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
            raise Problem("project-expect-not-a-list", where=self._where("expect"))
        return tuple(read_expectation(f"{self._at(one)}expect", one) for one in texts)

    def _baseline(self, made: dict[str, Any]) -> Path | None:
        name = made.get("baseline")
        if name is None:
            return None
        # The file is found by itself, perhaps in a folder of others: it names no file elsewhere.
        if not isinstance(name, str) or not name or Path(name).is_absolute() or ".." in name:
            raise Problem("project-baseline-elsewhere", where=self._where("baseline"), name=NAME)
        return self.path.parent / name

    def _where(self, key: str) -> str:
        return self._at(key, key=True) + key

    def _at(self, text: str, *, key: bool = False) -> str:
        """`iowhy.toml:3: `; without the number where the text is written with escapes."""
        name = re.escape(text)
        wanted = rf"^\s*\[*\s*[\"']?{name}[\"']?\s*[\]=.]" if key else name
        for number, line in enumerate(self.text.splitlines(), 1):
            if re.search(wanted, line):
                return f"{self.path}:{number}: "
        return f"{self.path}: "
