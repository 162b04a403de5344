"""Completion for bash, zsh and fish: texts made from the description of the options.

Options whose values are files are left to the shell, choices are listed; names of reports and causes are asked of nobody,
as a completion must be there at once.
"""

from collections.abc import Sequence
from pathlib import Path

from iowhy.cli._described import Page
from iowhy.options.described import Parameter


def bash(pages: Sequence[Page]) -> str:
    """For /usr/share/bash-completion/completions/iowhy."""
    cases = [
        f"    {_case(page.path)}) words={_quoted(' '.join(_flags(page)))} ;;" for page in pages
    ]
    choices = {
        flag: " ".join(one.described.choices)
        for page in pages
        for one in page.options
        if one.described.choices
        for flag in one.described.flags
    }
    values = [f"    {flag}) words={_quoted(words)} ;;" for flag, words in sorted(choices.items())]
    return "\n".join(
        [
            "# bash completion of iowhy; made from its options (make docs)",
            "_iowhy() {",
            "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path=${COMP_WORDS[1]} words=",
            f'  case $path in {"|".join(_groups(pages)) or "-"}) path="$path ${{COMP_WORDS[2]}}" ;; esac',
            '  if [ "$COMP_CWORD" -eq 1 ]; then',
            f"    words={_quoted(' '.join(_first_words(pages)))}",
            "  else",
            "    case $path in",
            *cases,
            *_bash_groups(pages),
            "    esac",
            "    case $before in",
            *values,
            "    esac",
            "  fi",
            "  case $before:$current in",
            *(f"    {flag}:*) ;;" for flag in sorted(choices)),
            "    *:-*) ;;",
            '    *) if [ "$COMP_CWORD" -gt 1 ]; then compopt -o default; fi ;;',
            "  esac",
            '  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")',
            "}",
            "complete -F _iowhy iowhy",
            "",
        ]
    )


def fish(pages: Sequence[Page]) -> str:
    """For /usr/share/fish/vendor_completions.d/iowhy.fish."""
    lines = ["# fish completion of iowhy; made from its options (make docs)"]
    for word, about in _summaries(pages):
        lines.append(f"complete -c iowhy -n __fish_use_subcommand -f -a {word} -d {_quoted(about)}")
    for page in pages:
        first, _, below = page.path.partition(" ")
        seen = f"__fish_seen_subcommand_from {first}"
        if below:
            names = " ".join(one.path.partition(" ")[2] for one in _below(pages, first))
            none = f"{seen}; and not __fish_seen_subcommand_from {names}"
            lines.append(
                f"complete -c iowhy -n {_quoted(none)} -f -a {below} -d {_quoted(page.summary)}"
            )
            seen += f"; and __fish_seen_subcommand_from {below}"
        for one in page.options:
            flags = " ".join(
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
                for flag in one.described.flags
            )
            value = ""
            if one.described.choices:
                value = f" -x -a {_quoted(' '.join(one.described.choices))}"
            elif one.takes_value:
                value = " -r"
            lines.append(
                f"complete -c iowhy -n {_quoted(seen)} {flags}{value} -d {_quoted(one.described.help)}"
            )
    return "\n".join(lines) + "\n"


def zsh(pages: Sequence[Page]) -> str:
    """For a folder of $fpath, as _iowhy."""
    commands = [f"    {_quoted(f'{word}:{about}')}" for word, about in _summaries(pages)]
    cases = []
    for page in pages:
        cases.append(f"    {_case(page.path)}) _arguments -s \\")
        cases += [f"      {_zsh_option(one)} \\" for one in page.options]
        cases.append("      '*:file:_files' ;;")
    groups = "|".join(_groups(pages)) or "-"
    return "\n".join(
        [
            "#compdef iowhy",
            "# zsh completion of iowhy; made from its options (make docs)",
            "_iowhy() {",
            "  local path_=$words[2]",
            "  local -a commands",
            "  commands=(",
            *commands,
            "  )",
            "  if (( CURRENT == 2 )); then _describe command commands; return; fi",
            "  if (( CURRENT == 3 )); then",
            "    case $path_ in",
            *_zsh_groups(pages),
            "    esac",
            "  fi",
            f'  case $path_ in {groups}) path_="$path_ $words[3]"; shift words; (( CURRENT-- )) ;; esac',
            "  shift words; (( CURRENT-- ))",
            "  case $path_ in",
            *cases,
            "  esac",
            "}",
            '_iowhy "$@"',
            "",
        ]
    )


def install(pages: Sequence[Page], folder: Path) -> None:
    """Writes all three below `folder`, where packages have them (share/…)."""
    for place, text in (
        ("bash-completion/completions/iowhy", bash(pages)),
        ("fish/vendor_completions.d/iowhy.fish", fish(pages)),
        ("zsh/site-functions/_iowhy", zsh(pages)),
    ):
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def _flags(page: Page) -> list[str]:
    return [*(flag for one in page.options for flag in one.described.flags), "-h", "--help"]


def _groups(pages: Sequence[Page]) -> list[str]:
    """Commands that have commands of their own."""
    return list(dict.fromkeys(page.path.partition(" ")[0] for page in pages if " " in page.path))


def _below(pages: Sequence[Page], group: str) -> list[Page]:
    """The commands of a command."""
    return [page for page in pages if page.path.startswith(f"{group} ")]


def _zsh_groups(pages: Sequence[Page]) -> list[str]:
    return [
        f"      {group}) commands=("
        + " ".join(
            _quoted(f"{page.path.partition(' ')[2]}:{page.summary}")
            for page in _below(pages, group)
        )
        + "); _describe command commands; return ;;"
        for group in _groups(pages)
    ]


def _bash_groups(pages: Sequence[Page]) -> list[str]:
    below = {
        group: " ".join(page.path.split()[1] for page in pages if page.path.startswith(f"{group} "))
        for group in _groups(pages)
    }
    return [f'    "{group} "*) words={_quoted(words)} ;;' for group, words in below.items()]


def _first_words(pages: Sequence[Page]) -> list[str]:
    return [*(word for word, _ in _summaries(pages)), "help", "--help", "--version"]


def _summaries(pages: Sequence[Page]) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for page in pages:
        found.setdefault(page.path.partition(" ")[0], page.summary)
    return list(found.items())


def _case(path: str) -> str:
    return f'"{path}"'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _zsh_option(one: Parameter) -> str:
    about = one.described.help.replace("[", "(").replace("]", ")").replace(":", "\\:")
    value = ""
    if one.described.choices:
        value = f":value:({' '.join(one.described.choices)})"
    elif one.takes_value:
        value = f":{(one.described.metavar or one.value_name).replace(':', '')}:_files"
    star = "*" if one.repeated else ""
    each = [
        _quoted(f"{star}{flag}{'=' if value and flag.startswith('--') else ''}[{about}]{value}")
        for flag in one.described.flags
    ]
    return " ".join(each)
