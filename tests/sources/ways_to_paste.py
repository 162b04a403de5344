"""What logs, mail, wikis and people do to a text before it reaches `iowhy diagnose`; each by a seed."""

import html
import json
import quopri
import random
import re
import textwrap
from collections.abc import Callable

Way = Callable[[str, random.Random], str]


def _each(text: str, of: Callable[[str], str]) -> str:
    return "".join(f"{of(line)}\n" for line in text.splitlines())


def wrapped(text: str, dice: random.Random) -> str:
    """As mail at some width."""
    width = dice.choice([40, 60, 72, 76, 78, 80, 100])
    return "\n".join("\n".join(textwrap.wrap(line, width)) for line in text.splitlines()) + "\n"


def cut_by_terminal(text: str, dice: random.Random) -> str:
    """A copy of a narrow terminal: lines go on in the next, words are cut."""
    width = dice.choice([60, 80, 100])
    return _each(
        text,
        lambda line: "\n".join(line[at : at + width] for at in range(0, max(1, len(line)), width)),
    )


def in_quoted_printable(text: str, dice: random.Random) -> str:
    del dice
    return quopri.encodestring(text.encode(), quotetabs=True).decode()


def prefixed(text: str, dice: random.Random) -> str:
    """docker logs -t, CRI, journald, ts, compose, kubectl, and one that nobody has."""
    form = dice.choice(
        [
            "2024-05-0{day}T10:{m:02}:{s:02}.{n}Z ",
            "2024-05-0{day}T10:{m:02}:{s:02}.{n}Z stdout F ",
            "Nov 1{day} 10:{m:02}:{s:02} host sh[4{day}1]: ",
            "Nov 1{day} 10:{m:02}:{s:02} ",
            "web-1  | ",
            "[pod/web-0/app] ",
            "<<{n}>> INFO {s}.{m} => ",
        ]
    )
    day, minute, second = dice.randint(1, 9), dice.randint(0, 59), dice.randint(0, 20)
    rows = text.splitlines()
    return "".join(
        form.format(day=day, m=minute, s=(second + at // 9) % 60, n=at * 137 + 1000) + f"{line}\n"
        for at, line in enumerate(rows)
    )


def signed(text: str, dice: random.Random) -> str:
    sign = dice.choice(["# ", "+ ", "| ", "* ", "// ", "> ", "+"])
    return _each(text, lambda line: f"{sign}{line}")


def in_markdown_table(text: str, dice: random.Random) -> str:
    """Each block of lines as a table."""
    del dice
    made = []
    for block in re.split(r"\n\s*\n", text):
        rows = [line.split() for line in block.splitlines() if line.strip()]
        for at, row in enumerate(rows):
            made.append("| " + " | ".join(row) + " |")
            if not at:
                made.append("|" + "---|" * len(row))
        made.append("")
    return "\n".join(made)


def in_html_table(text: str, dice: random.Random) -> str:
    apart = dice.choice(["", "\n"])
    rows = []
    for line in text.splitlines():
        cells = apart.join(f"<td>{html.escape(word, quote=False)}</td>" for word in line.split())
        rows.append(f"<tr>{apart}{cells}{apart}</tr>" if cells else "")
    return "<table>\n" + "\n".join(rows) + "\n</table>\n"


def from_ansible(text: str, dice: random.Random) -> str:
    lines = text.splitlines()
    if dice.random() < 0.5:
        return "ok: [host] => " + json.dumps({"stdout_lines": lines}, indent=4) + "\n"
    return "ok: [host] => {\n    " + json.dumps("stdout") + ": " + json.dumps(text) + "\n}\n"


def in_json_lines(text: str, dice: random.Random) -> str:
    del dice
    return _each(
        text,
        lambda line: json.dumps(
            {"log": f"{line}\n", "stream": "stdout", "time": "2024-05-01T10:00:00Z"}
        ),
    )


def emphasised(text: str, dice: random.Random) -> str:
    """Some numbers in bold, some lines as code."""
    mark = dice.choice(["**", "__", "`"])
    text = re.sub(
        r"(?<=\s)\d[\d.]*(?=\s)",
        lambda found: f"{mark}{found[0]}{mark}" if dice.random() < 0.2 else found[0],
        text,
    )
    return _each(
        text,
        lambda line: f"`{line}`" if mark != "`" and line.strip() and dice.random() < 0.3 else line,
    )


def spaced(text: str, dice: random.Random) -> str:
    """Empty lines behind every line."""
    more = "\n" * dice.randint(1, 2)
    return _each(text, lambda line: line + more)


def coloured(text: str, dice: random.Random) -> str:
    return re.sub(
        r"\S+",
        lambda found: f"\x1b[1;31m{found[0]}\x1b[0m" if dice.random() < 0.3 else found[0],
        text,
    )


def torn(text: str, dice: random.Random) -> str:
    """Cut at both ends."""
    rows = text.splitlines(keepends=True)
    first = dice.randrange(len(rows))
    part = "".join(rows[first : first + dice.randint(1, len(rows))])
    return part[: len(part) - dice.randrange(30)] if len(part) > 60 else part


def narrow(text: str, dice: random.Random) -> str:
    """Cut on the right."""
    width = dice.choice([30, 50, 72, 80, 100])
    return _each(text, lambda line: line[:width])


def holed(text: str, dice: random.Random) -> str:
    """Some lines are missing."""
    return "".join(line for line in text.splitlines(keepends=True) if dice.random() < 0.8)


#: What leaves all of a text there, and what takes some of it away.
WHOLE: dict[str, Way] = {
    one.__name__: one
    for one in (
        wrapped, cut_by_terminal, in_quoted_printable, prefixed, signed, in_markdown_table, in_html_table, from_ansible, in_json_lines,
        emphasised, spaced, coloured,
    )
}  # fmt: skip
PARTS: dict[str, Way] = {one.__name__: one for one in (torn, narrow, holed)}
