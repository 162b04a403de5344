"""Man pages, made from the description of the options: man(7)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from iowhy import __version__
from iowhy.cli._commands import ABOUT
from iowhy.cli._described import Page
from iowhy.cli._statuses import EPILOG
from iowhy.options.described import Parameter


def install(pages: Sequence[Page], folder: Path) -> None:
    """Writes iowhy.1 and a page for each command, as iowhy-run.1, into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "iowhy.1").write_text(overview(pages), "utf-8")
    for page in pages:
        (folder / f"{_name(page)}.1").write_text(manual(page), "utf-8")


def overview(pages: Sequence[Page]) -> str:
    """The page of `iowhy` itself."""
    lines = [*_head("iowhy", ABOUT), ".SH SYNOPSIS", ".B iowhy", "COMMAND [OPTION]... [WORD]..."]
    lines.append(".SH COMMANDS")
    for page in pages:
        lines += [".TP", f"\\fB{escaped(_name(page))}\\fR(1)", one_line(page.summary)]
    lines += [".SH EXIT STATUS", one_line(EPILOG.removeprefix("Exit status: "))]
    return "\n".join(lines) + "\n"


def manual(page: Page) -> str:
    """The page of one command."""
    words = " ".join(one.called if one.required else f"[{one.called}]" for one in page.words)
    lines = [
        *_head(_name(page), page.summary),
        ".SH SYNOPSIS",
        f".B iowhy {escaped(page.path)}",
        one_line(f"[OPTION]... {words}"),
        ".SH DESCRIPTION",
        *_paragraphs(page.about),
    ]
    for one in page.words:
        lines += [".TP", f"\\fI{escaped(one.called)}\\fR", one_line(one.described.help)]
    for panel in dict.fromkeys(one.panel for one in page.options):
        lines.append(f".SH {escaped((panel or 'options').upper())}")
        for one in page.options:
            if one.panel == panel:
                lines += [".TP", _named(one), one_line(one.described.help + _default(one))]
    if page.epilog:
        lines += [".SH EXAMPLES", *_examples(page.epilog)]
    lines += [".SH SEE ALSO", "\\fBiowhy\\fR(1)"]
    return "\n".join(lines) + "\n"


def _head(name: str, about: str) -> list[str]:
    title = f'.TH {escaped(name.upper())} 1 "" "iowhy {__version__}" "User Commands"'
    return [title, ".SH NAME", f"{escaped(name)} \\- {escaped(about.rstrip('.'))}"]


def _name(page: Page) -> str:
    return f"iowhy-{page.path.replace(' ', '-')}"


def _named(one: Parameter) -> str:
    flags = ", ".join(f"\\fB{escaped(flag)}\\fR" for flag in sorted(one.described.flags, key=len))
    value = one.described.metavar or one.value_name
    return f"{flags} \\fI{escaped(value)}\\fR" if one.takes_value else flags


def _default(one: Parameter) -> str:
    plain = (
        one.takes_value
        and one.described.read is None
        and not one.repeated
        and one.default not in (None, "")
    )
    return f" (default {one.default})" if plain else ""


def _paragraphs(text: str) -> Iterator[str]:
    for block in text.strip().split("\n\n"):
        yield ".PP"
        yield one_line(" ".join(block.split()))


def _examples(text: str) -> Iterator[str]:
    for block in filter(None, text.strip("\n").split("\n\n")):
        if block.startswith(" "):
            yield from (".PP", ".EX", *map(one_line, block.split("\n")), ".EE")
        elif block.strip() != "Examples:":
            yield from _paragraphs(block)


def one_line(text: str) -> str:
    """A line of text, whatever it begins with."""
    text = escaped(text)
    return f"\\&{text}" if text.startswith((".", "'")) else text


def escaped(text: str) -> str:
    """Nothing of it is a request to troff; letters beyond ASCII by number, which each of them understands."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "".join(one if one.isascii() else f"\\[u{ord(one):04X}]" for one in text)
