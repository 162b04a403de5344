"""Where the product's texts are: each with its file, its line and its kind."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[2]
#: Pages that are made from the code: what is wrong there is wrong in their source.
GENERATED = re.compile(
    r"docs/(recording|reports|programs)\.md|docs/causes/(?!README).*\.md|docs/(site|schema|recordings)/.*"
)
RUST = (
    "agent",
    "lab",
    "logs",
    "programs",
    "readings",
    "recorder",
    "store",
    "symbols",
    "tables",
    "unwind",
)
_RUST_TEXT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])'|b?r\#"(?P<raw>.*?)"\#|b?"(?P<text>(?:\\.|[^"\\])*)\"""", re.S
)  # fmt: skip
_JS_TEXT = re.compile(r"//[^\n]*|/\*.*?\*/|`(?P<raw>[^`]*)`|\"(?P<text>[^\"\n]*)\"", re.S)
#: Pieces of a literal that goes on in the next line, and code within one, are not its words.
_PIECES = re.compile(r"""(?<=["'])\n\s*[rf]?["']|["'](?=\n\s*[rf]?["'])|\{[^{}\n]*\}""")
_FENCE = re.compile(r"^( *)```.*?^\1```$|^    (?=\S).*?$|`[^`\n]*`|<!--.*?-->", re.S | re.M)


class Text(Struct, frozen=True):
    """A text as it stands in its file, from `line` on; `node` is the literal's, in Python."""

    path: Path
    line: int
    kind: str
    text: str

    def place(self, at: int) -> str:
        """`file:line` of the character `at`."""
        line = self.line + self.text.count("\n", 0, at)
        return f"{self.path.relative_to(ROOT)}:{line}"


def all_texts() -> Iterator[Text]:
    """Of the product and its pages, not of tests."""
    for path in _files("python/iowhy", ".py"):
        yield from python_texts(path)
    for path in _files("python/iowhy", ".sql"):
        yield from _matches(path, "sql", re.compile(r"--(?P<text>[^\n]*(?:\n--[^\n]*)*)"))
    for path in (*_files("python/iowhy", ".toml"), *_files("tables", ".toml")):
        yield Text(path, 1, "toml", path.read_text())
    for path in _files("python/iowhy/views", ".js"):
        yield from _matches(path, "js", _JS_TEXT)
    for folder in RUST:
        yield from rust_texts(folder)
    for path in pages():
        prose = _FENCE.sub(_blank, path.read_text())
        yield Text(path, 1, "page", prose)


def rust_texts(folder: str) -> Iterator[Text]:
    """Literals of a crate, not of its tests."""
    for path in _files(folder, ".rs"):
        if "tests" not in path.parts and path.name != "tests.rs":
            source = path.read_text().partition("#[cfg(test)]")[0]
            yield from _matches(path, "rust", _RUST_TEXT, source)


def pages() -> list[Path]:
    """The pages written by hand."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob(".github/*.md")]
    return sorted(one for one in found if not GENERATED.fullmatch(str(one.relative_to(ROOT))))


def python_texts(path: Path) -> Iterator[Text]:
    """Literals and docstrings of a module, each once; a piece between `{}` is another text."""
    source = path.read_text()
    lines = source.split("\n")
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    formatted = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    pieces = {id(piece) for node in formatted for piece in node.values}
    for node in ast.walk(tree):
        if id(node) in pieces or not (
            isinstance(node, ast.JoinedStr)
            or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        ):
            continue
        kind = "docstring" if id(node) in docstrings else "python"
        text = _PIECES.sub(_blank, _segment(lines, node))
        if kind == "docstring":
            text = re.sub(r"`[^`\n]*`", _blank, text)
        yield Text(path, node.lineno, kind, text)


def _segment(lines: list[str], node: ast.expr) -> str:
    """As `ast.get_source_segment`, which takes the file apart for each."""
    assert node.end_lineno is not None
    kept = [line.encode() for line in lines[node.lineno - 1 : node.end_lineno]]
    kept[-1] = kept[-1][: node.end_col_offset]
    kept[0] = kept[0][node.col_offset :]
    return b"\n".join(kept).decode()


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _matches(
    path: Path, kind: str, pattern: re.Pattern[str], source: str | None = None
) -> Iterator[Text]:
    source = path.read_text() if source is None else source
    for found in pattern.finditer(source):
        groups = {name: text for name, text in found.groupdict().items() if text is not None}
        for name, text in groups.items():
            yield Text(path, 1 + source.count("\n", 0, found.start(name)), kind, text)


def _files(folder: str, suffix: str) -> list[Path]:
    return sorted((ROOT / folder).rglob(f"*{suffix}"))
