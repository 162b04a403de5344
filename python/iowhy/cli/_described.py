"""All commands with their options: what man pages and completion of shells are made from."""

from collections.abc import Iterator
from importlib import import_module

from iowhy.cli._commands import COMMANDS
from iowhy.data_class import dataclass
from iowhy.options.described import Parameter, parameters


@dataclass(frozen=True)
class Page:
    """One command: `path` as it is typed, without `iowhy`."""

    path: str
    about: str
    epilog: str
    parameters: tuple[Parameter, ...]

    @property
    def summary(self) -> str:
        """The first line of what it does."""
        return self.about.partition("\n")[0].rstrip(".")

    @property
    def options(self) -> tuple[Parameter, ...]:
        """Its options, in the order of the help."""
        return tuple(
            one for one in self.parameters if one.described.flags and not one.described.hidden
        )

    @property
    def words(self) -> tuple[Parameter, ...]:
        """Its words."""
        return tuple(one for one in self.parameters if not one.described.flags)


def pages() -> Iterator[Page]:
    """All commands, in the order of `iowhy --help`."""
    for name in COMMANDS:
        module = import_module(f"iowhy.cli.{name}")
        inner = getattr(module, "COMMANDS", None)
        if inner is None:
            yield _page(name, module.Options, module.command.__doc__, module.EPILOG)
        else:
            for below, (options, act) in inner.items():
                yield _page(f"{name} {below}", options, act.__doc__, "")


def _page(path: str, options: type, about: str | None, epilog: str) -> Page:
    return Page(path, about or "", epilog, parameters(options))
