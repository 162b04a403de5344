"""The sentences that a user can see, each with its id and with example values in its places.

A sentence that is made by `iowhy.sentences.worded` has its id from there. Any other is called by where it is: module, function, number.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct

from iowhy.errors import templates
from iowhy.sentences import KINDS
from iowhy.units import plural
from tests.words.texts import ROOT, RUST, rust_texts

PACKAGE = ROOT / "python" / "iowhy"
#: Example values by how they are written, and by what they are called.
BY_KIND = {"share": 0.69, "ns": 112_000, "bytes": 4_147, "rate": 7e6, "count": 10_039}
BY_FUNCTION = {
    "percent": "69 %", "duration": "112 µs", "size": "4.05 KiB", "rate": "7 MB/s", "count": "10,039", "plural": "3 calls",
    "part_of": "0.97 of 1.40 s", "typed": "sqlite3.iowhy", "quoted": "sqlite3.iowhy", "joined": "sqlite3 accounts.db",
}  # fmt: skip
BY_NAME = {
    "device": "vda", "path": "/srv/accounts.db", "file": "/srv/accounts.db", "who": "sqlite3", "call": "fdatasync", "pid": "20920",
    "cause": "sync-storm", "table": "syscalls", "sensor": "block_requests", "error": "No space left on device", "host": "web1",
    "directory": "/srv", "folder": "/srv", "option": "--since", "text": "soon", "value": "soon", "name": "accounts", "recording":
    "sqlite3.iowhy", "cpus": "2", "filesystem": "ext4", "unit": "bytes", "where": "iowhy.toml:3", "key": "keep", "line": "17",
}  # fmt: skip
_ERRORS = {"Refused", "Unreadable", "_problem", "problem"}
#: What makes a sentence with an id: which argument that is, and which the text.
_NAMED = {"worded": (0, 1), "link": (4, 0), "_order": (0, 1)}
_SENTENCE = re.compile(r"[A-Za-z’'`…)},:%]{2,}\S* \S*[a-z]{2,}")
_CODE = re.compile(
    r"\b(SELECT|FROM|WHERE|JOIN|CREATE|CASE WHEN|CAST|INSERT|COPY|DROP|DESCRIBE|REPLACE|NULL::|<[a-z]+ )\b|^\s*[.#][\w-]+ *\{|\(\?[:<P]|\\[bdsw]"
)
_HEADER = re.compile(r"^-- (?:column )?(title|question|(?<=column )\w+): (.*)$", re.M)
#: By the folder of the module, in the order in which they are printed.
ROOMS = {
    "whys/causes": "Causes", "whys/programs": "Programs", "whys": "Verdicts", "errors": "Errors", "options": "Helps of options",
    "cli": "Commands", "doctor": "Doctor", "views": "Screens and pages", "agent": "Agent", "fleet": "Fleet", "experiments": "Experiments",
    "lab": "Lab", "reports": "Reports", "charts": "Charts", "sources": "Other tools' texts", "": "Elsewhere",
    "rust": "The recorder and other programs in Rust",
}  # fmt: skip


class Entry(Struct, frozen=True):
    """A sentence: under which heading, its id, its text with examples."""

    room: str
    id: str
    text: str


@cache
def catalogue() -> tuple[Entry, ...]:
    """All of them, by file."""
    return tuple(_read())


def _read() -> Iterator[Entry]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield from _of_module(path)
    for id_, text in templates().items():
        yield Entry("errors", id_, _filled(text))
    for path in sorted((PACKAGE / "whys" / "programs").glob("*.toml")):
        yield from _of_table(path.stem, tomllib.loads(path.read_text()))
    for kind in ("reports", "charts"):
        for path in sorted((PACKAGE / kind).glob("*.sql")):
            for name, text in _HEADER.findall(path.read_text()):
                yield Entry(kind, f"{kind}.{path.stem}.{name}", text)
    for folder in RUST:
        for number, text in enumerate(rust_texts(folder), 1):
            if _is_sentence(text.text):
                yield Entry("rust", f"{folder}.{text.path.stem}.{number}", text.text)


def _is_sentence(text: str) -> bool:
    return bool(_SENTENCE.search(text)) and not _CODE.search(text)


def _room(module: str) -> str:
    return next(room for room in sorted(ROOMS, key=len, reverse=True) if module.startswith(room))


def _of_table(id_: str, value: object) -> Iterator[Entry]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _of_table(f"{id_}.{key}", inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value, 1):
            yield from _of_table(f"{id_}.{number}", inner)
    elif isinstance(value, str) and (id_.endswith(".do") or _is_sentence(value)):
        # A remedy's order has the remedy's id.
        yield Entry("whys/programs", id_.replace(".remedies.", ".").removesuffix(".do"), value)


def _of_module(path: Path) -> Iterator[Entry]:
    module = str(path.relative_to(PACKAGE).with_suffix(""))
    place = module.replace("/", ".")
    counted: dict[str, int] = {}
    tree = ast.parse(path.read_text())
    for function, node, call in _strings(tree, "", ""):
        if call in _NAMED and isinstance(node, ast.Call):
            name, said = node.args[_NAMED[call][0]], node.args[_NAMED[call][1]]
            if path.name == "errors.py":
                continue  # it takes them from errors.toml
            assert isinstance(name, ast.Constant), f"{path}:{node.lineno}: an id is a literal"
            if isinstance(said, ast.Name):
                said = next(
                    text
                    for at, name, text in _assigned(tree)
                    if name == said.id and at < said.lineno
                )
            text = example(said)
            text = _filled(text) if call == "worded" else text
            yield Entry(_room(module), str(name.value), text)
            continue
        text = example(node)
        if _is_sentence(text) and "{" not in text:
            key = f"{place}.{function}".rstrip(".")
            counted[key] = counted.get(key, 0) + 1
            yield Entry(
                "errors" if call in _ERRORS else _room(module), f"{key}.{counted[key]}", text
            )


def _assigned(tree: ast.Module) -> list[tuple[int, str, ast.expr]]:
    """Texts that have a name, the last one first."""
    found = [
        (node.lineno, node.targets[0].id, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and _is_text(node.value)
    ]
    return sorted(found, key=lambda one: -one[0])


def _strings(node: ast.AST, function: str, call: str) -> Iterator[tuple[str, ast.expr, str]]:
    """Texts in order, each with its function and keyword, and with what is called with it; those within another are parts of that."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        function = node.name
    if isinstance(node, ast.Call):
        call = _called(node)
        if call in _NAMED and len(node.args) > max(_NAMED[call]):
            yield function, node, call
            return
        if call in {"compile", "TypeVar", "getLogger"}:
            return
    if isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    ):
        yield function, node, call
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _is_text(node):
        yield function, node, call
        return
    if isinstance(node, ast.keyword) and node.arg:
        function = f"{function}.{node.arg}".lstrip(".")
    for inner in ast.iter_child_nodes(node):
        yield from _strings(inner, function, call)


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    if isinstance(node, ast.IfExp):
        return _is_text(node.body)
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def example(node: ast.expr) -> str:
    """What a text could be: of alternatives the longest, of a value an example."""
    match node:
        case ast.Constant():
            return str(node.value)
        case ast.JoinedStr():
            return "".join(map(example, node.values))
        case ast.FormattedValue():
            return example(node.value)
        case ast.IfExp():
            return max(example(node.body), example(node.orelse), key=len)
        case ast.BinOp():
            return example(node.left) + example(node.right) if isinstance(node.op, ast.Add) else "3"
        case ast.BoolOp():
            return example(node.values[0])
        case ast.Call() if _called(node) in BY_FUNCTION:
            return BY_FUNCTION[_called(node)]
        case ast.Name() | ast.Attribute():
            name = node.id if isinstance(node, ast.Name) else node.attr
            return BY_NAME.get(name.strip("_"), f"‹{name.strip('_')}›")
    return f"‹{ast.unparse(node)}›"


def _filled(template: str) -> str:
    """A template with an example for each of its places."""

    def one(place: re.Match[str]) -> str:
        name, _, kind = place[1].partition(":")
        if kind in KINDS:
            return KINDS[kind](BY_KIND[kind])
        if kind.startswith("count "):
            return plural(3, *kind.removeprefix("count ").split("/"))
        return "2.0" if kind else BY_NAME.get(name, f"‹{name}›")

    return re.sub(r"\{([^{}]*)\}", one, template)
