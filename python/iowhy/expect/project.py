"""`iowhy.toml`: what is expected of a project's commands, for everybody who runs them there.

baseline = "io-baseline.json"             # beside this file
expect = ["cause sync-storm < 20 %"]      # of every command

[[command]]
run = "./load *"                          # as it is typed; * and ? as in names of files
expect = ["sync_calls <= 10"]
"""

import re
import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from iowhy.data_class import dataclass
from iowhy.errors import Problem
from iowhy.expect.expectation import Expectation, read_expectation
from iowhy.invocation import joined
from iowhy.project_file import NAME

_MOST_BYTES = 1 << 20
_KEYS = ("baseline", "expect", "command")
_COMMAND_KEYS = ("run", "expect")


@dataclass(frozen=True)
class Budget:
    """What is expected of the commands that `pattern` fits."""

    pattern: str
    expected: tuple[Expectation, ...]


@dataclass(frozen=True)
class Project:
    """What an iowhy.toml says."""

    path: Path
    baseline: Path | None
    budgets: tuple[Budget, ...]

    def expected(self, argv: Sequence[str]) -> tuple[Expectation, ...]:
        """What is expected of a command, in the order of the file."""
        typed = joined(argv)
        return tuple(
            one
            for budget in self.budgets
            if fnmatchcase(typed, budget.pattern)
            for one in budget.expected
        )


def read_project(path: Path) -> Project:
    """What the file says. Raises Problem that names the file, the line and the key."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise Problem(f"{path}: cannot be read: {error.strerror or error}") from None
    if len(data) > _MOST_BYTES:
        raise Problem(f"{path}: larger than 1 MiB; it is no {NAME}")
    try:
        text = data.decode("utf-8")
        made = tomllib.loads(text)
    except UnicodeDecodeError:
        raise Problem(f"{path}: is not UTF-8 text") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Problem(f"{path}: is no TOML: {error}") from None
    return _Reader(path, text).project(made)


@dataclass(frozen=True)
class _Reader:
    path: Path
    text: str

    def project(self, made: dict[str, Any]) -> Project:
        self._known(made, _KEYS)
        budgets = [Budget("*", self._expected(made))]
        commands = made.get("command", [])
        if not isinstance(commands, list) or not all(isinstance(one, dict) for one in commands):
            raise self._problem("command", "write [[command]] above each")
        for one in commands:
            self._known(one, _COMMAND_KEYS)
            pattern = one.get("run")
            if not isinstance(pattern, str) or not pattern:
                raise self._problem(
                    "command", "each needs `run`, the command as it is typed, such as './load *'"
                )
            budgets.append(Budget(pattern, self._expected(one)))
        return Project(self.path, self._baseline(made), tuple(budgets))

    def _known(self, made: dict[str, Any], keys: Sequence[str]) -> None:
        for key in made:
            if key not in keys:
                raise self._problem(key, f"no such key; there are {', '.join(keys)}")

    def _expected(self, made: dict[str, Any]) -> tuple[Expectation, ...]:
        texts = made.get("expect", [])
        if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
            raise self._problem("expect", "give a list of texts, such as ['sync_calls <= 10']")
        return tuple(read_expectation(f"{self._at(one)}expect", one) for one in texts)

    def _baseline(self, made: dict[str, Any]) -> Path | None:
        name = made.get("baseline")
        if name is None:
            return None
        # The file is found by itself, perhaps in a folder of others: it names no file elsewhere.
        if not isinstance(name, str) or not name or Path(name).is_absolute() or ".." in name:
            raise self._problem("baseline", f"give the name of a file beside {NAME}, or below it")
        return self.path.parent / name

    def _problem(self, key: str, what: str) -> Problem:
        return Problem(f"{self._at(key, key=True)}{key}: {what}")

    def _at(self, text: str, *, key: bool = False) -> str:
        """`iowhy.toml:3: `; without the number where the text is written with escapes."""
        name = re.escape(text)
        wanted = rf"^\s*\[*\s*[\"']?{name}[\"']?\s*[\]=.]" if key else name
        for number, line in enumerate(self.text.splitlines(), 1):
            if re.search(wanted, line):
                return f"{self.path}:{number}: "
        return f"{self.path}: "
