"""A Typer command from described options: its signature is made from the dataclass."""

import inspect
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import typer
import typer.core

from iowhy.options.described import Parameter, build, parameters, plain_kind

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}

Options = TypeVar("Options")
IsOurs = Callable[[str], bool]


def new_app(help: str | None = None) -> typer.Typer:
    """A Typer that leaves errors to `main`."""
    return typer.Typer(
        help=help, add_completion=False, pretty_exceptions_enable=False, context_settings=SETTINGS
    )


def add(
    app: typer.Typer,
    name: str,
    options: type[Options],
    act: Callable[[Options], None],
    epilog: str | None = None,
    ours: IsOurs = lambda _: False,
) -> None:
    """Adds a command: `act` gets the options, its docstring is the help.

    ours: of a command whose words begin another command, which words still belong to this one.
    """

    def run(**given: Any) -> None:
        act(build(options, given))

    known = parameters(options)
    run.__doc__ = act.__doc__
    made = [_parameter(one) for one in known]
    run.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in made}
    words = any(one.described.begins_command for one in known)
    kind = _ends_at_command(known, ours) if words else typer.core.TyperCommand
    app.command(name, cls=kind, epilog=epilog, context_settings=SETTINGS)(run)


def _parameter(one: Parameter) -> inspect.Parameter:
    kind = plain_kind(one)
    default = one.default
    if one.repeated:
        kind, default = list[kind] | None, None  # type: ignore[valid-type]
    said = one.described
    more: dict[str, Any] = {"help": said.help, "hidden": said.hidden}
    more["metavar"] = _called(one) if said.metavar is None else said.metavar
    if one.panel:
        more["rich_help_panel"] = one.panel
    info = typer.Option(*said.flags, **more) if said.flags else typer.Argument(**more)
    return inspect.Parameter(
        one.name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[kind, info],
        default=inspect.Parameter.empty if one.required else default,
    )


def _called(one: Parameter) -> str:
    """What stands for the value in the help."""
    if one.kind is bool:
        return ""
    kinds = {plain_kind(one), *get_args(plain_kind(one))}
    return "PATH" if Path in kinds else "N" if int in kinds else "TEXT"


def _ends_at_command(known: Sequence[Parameter], ours: IsOurs) -> type[typer.core.TyperCommand]:
    class EndsAtCommand(typer.core.TyperCommand):
        """What follows the command's first word is the command's: `iowhy run ls -l`."""

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            return super().parse_args(ctx, with_dashes(args, known, ours))

    return EndsAtCommand


def with_dashes(words: Sequence[str], known: Sequence[Parameter], ours: IsOurs) -> list[str]:
    """The words with `--` before the first one that is no option, no option's value and not `ours`."""
    valued = {flag for one in known if one.takes_value for flag in one.described.flags}
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            break
        if word.startswith("-") and word != "-":
            at += 2 if _takes_next(word, valued) else 1
        elif ours(word):
            at += 1
        else:
            return [*words[:at], "--", *words[at:]]
    return list(words)


def _takes_next(word: str, valued: AbstractSet[str]) -> bool:
    """Whether an option's value is the word after it, and not in `--name=value` or `-ovalue`."""
    if word.startswith("--"):
        return word in valued
    for at, letter in enumerate(word[1:], 2):
        if f"-{letter}" in valued:
            return at == len(word)
    return False
