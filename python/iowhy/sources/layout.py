"""Undo what mail, wikis and trackers do to a terminal's text: quoting, HTML, fences, line numbers.

Lines keep their number: what is taken off leaves an empty line behind, never fewer lines.
"""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

_QUOTED = re.compile(r"\s{0,3}>(?: ?>)*(?: |$)")
_TAG = re.compile(r"</?(?:pre|code|tt|span|div|p|br|blockquote)\b[^<>]{0,200}/?>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:lt|gt|amp|nbsp|quot|apos|#\d{1,5}|#x[0-9a-fA-F]{1,4});")
#: JIRA's and bulletin boards' own fences; Markdown's stand alone or are glued to a line.
_MARK = re.compile(r"\{(?:noformat|code|quote)(?::[^{}]{0,80})?\}|\[/?(?:code|pre|quote)\]", re.I)
_GLUED = re.compile(r"\s{0,3}(?:```|~~~)(?=\s*\S+\s+\S|\s*\S*\d)(.+)")
_NUMBERED = re.compile(r"\s{0,8}(\d{1,7})(?:([:|)]|\t)\s?(?=.|$)|( )|$)")


def plain(lines: Sequence[str]) -> list[str]:
    """The lines as the terminal had them, as far as that can be known."""
    text = _unmarked(_unquoted(list(lines)))
    return _dedented(_unnumbered(text))


def _paragraphs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(first, end) of each stretch of lines that are not empty."""
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        end = at
        while end < len(lines) and lines[end].strip():
            end += 1
        yield at, end
        at = end


def _runs(lines: Sequence[str], of: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(lines):
        if not of(lines[at]):
            at += 1
            continue
        end = at
        while end < len(lines) and of(lines[end]):
            end += 1
        yield at, end
        at = end


def _unquoted(lines: list[str]) -> list[str]:
    """Without `> ` and `>> ` in front of runs of lines; one line alone may be a prompt."""
    for first, end in _runs(lines, lambda line: _QUOTED.match(line) is not None):
        if end - first < 2:
            continue
        for at in range(first, end):
            lines[at] = _QUOTED.sub("", lines[at], count=1)
    return lines


def _unmarked(lines: list[str]) -> list[str]:
    """Without tags, entities, and fences that are glued to a line."""
    for at, line in enumerate(lines):
        if "<" in line and _TAG.search(line):
            line = _TAG.sub("", line)
        # A string in a trace may hold an entity of its own.
        if "&" in line and '"' not in line and _ENTITY.search(line):
            line = html.unescape(line).replace("\u00a0", " ")
        if ("{" in line or "[" in line) and _MARK.search(line):
            line = _MARK.sub("", line)
        if "```" in line or "~~~" in line:
            if match := _GLUED.fullmatch(line):
                line = match[1]
            if line.strip(" `~") and line.rstrip().endswith(("```", "~~~")):
                line = line.rstrip()[:-3]
        lines[at] = line
    return lines


def _unnumbered(lines: list[str]) -> list[str]:
    """Without line numbers in front that count up by one.

    A column of numbers may do so too (process ids): where only a blank follows the number, the whole
    paragraph must be numbered from its first line on, and that line must have words.
    """
    for first, end in _paragraphs(lines):
        if end - first < 3 or not lines[first].lstrip()[:1].isdigit():
            continue
        matches = [_NUMBERED.match(lines[at]) for at in range(first, end)]
        whole = [match for match in matches if match is not None]
        if len(whole) < len(matches):
            continue
        numbers = [int(match[1]) for match in whole]
        if any(after != before + 1 for before, after in pairwise(numbers)):
            continue
        if not all(match[2] for match in whole) and not re.search(
            r"[A-Za-z]{2}", lines[first][whole[0].end() :]
        ):
            continue
        for at, match in zip(range(first, end), whole, strict=True):
            lines[at] = lines[at][match.end() :]
    return lines


def _dedented(lines: list[str]) -> list[str]:
    """Without the indentation of markdown code: paragraphs of which every line has 4 spaces or a tab.

    Only whole paragraphs, so that the indented frames below an event keep their place.
    """
    for first, end in _paragraphs(lines):
        if all(line.startswith(("    ", "\t")) for line in lines[first:end]):
            tab = all(line.startswith("\t") for line in lines[first:end])
            width = (
                1 if tab else min(len(line) - len(line.lstrip(" ")) for line in lines[first:end])
            )
            for at in range(first, end):
                lines[at] = lines[at][width:]
    return lines
