"""What is looked at when the house rules are tested: sizes, imports, names and unused functions, from the text alone."""

import ast
import re
from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "iowhy"
FILE_LINES = 400
FUNCTION_LINES = 60
#: A reason for more, beside what is long: in a comment.
REASON = re.compile(r"(#|//|/?\*|--) long: \S")
#: Where a file gives its reason: near its top.
TOP_LINES = 30


@dataclass(frozen=True)
class Long:
    """A file (no function) or a function that is longer than the rules allow, without a reason."""

    path: str
    function: str | None
    lines: int

    @property
    def key(self) -> str:
        return self.path if self.function is None else f"{self.path}:{self.function}"


@cache
def text_of(path: Path) -> str:
    return path.read_text()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


def files(*suffixes: str, folders: tuple[str, ...]) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            parts = path.relative_to(ROOT).parts
            if path.suffix in suffixes and "target" not in parts and "fixtures" not in parts:
                yield path


PYTHON_FOLDERS = ("python", "tests", "benchmarks", "benchmark")
RUST_AND_C_FOLDERS = (
    "tables", "recorder", "agent", "store", "readings", "unwind", "symbols", "logs", "lab", "programs", "fuzz",
)  # fmt: skip


def long_parts() -> list[Long]:
    """Files above 400 lines and functions above 60, without a reason beside them."""
    found = []
    for path in files(".py", folders=PYTHON_FOLDERS):
        found += [_file(path), *_long_python(path)]
    for path in files(".rs", ".c", ".h", folders=RUST_AND_C_FOLDERS):
        found += [_file(path), *_long_braces(path)]
    found += [_file(path) for path in files(".sql", ".js", ".css", folders=("python",))]
    return [one for one in found if one is not None]


def _file(path: Path) -> Long | None:
    lines = text_of(path).splitlines()
    if len(lines) <= FILE_LINES or any(REASON.search(line) for line in lines[:TOP_LINES]):
        return None
    return Long(str(path.relative_to(ROOT)), None, len(lines))


def _long_python(path: Path) -> Iterator[Long]:
    lines = text_of(path).splitlines()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            length = node.end_lineno - node.lineno + 1
            beside = lines[max(0, first - 4) : node.end_lineno]
            if length > FUNCTION_LINES and not any(REASON.search(line) for line in beside):
                yield Long(str(path.relative_to(ROOT)), node.name, length)


_RUST = re.compile(r"^(\s*)(pub(\([a-z]+\))? )?(const |async |unsafe |extern \"C\" )*fn (\w+)")
_C = re.compile(r"^(?!SEC\()\w(?:.*?\b)?(?:BPF_PROG\()?(\w+)[(,].*$")


def _long_braces(path: Path) -> Iterator[Long]:
    """Functions of Rust and C: as formatters leave them, one ends with a brace below its beginning."""
    lines = text_of(path).splitlines()
    rust = path.suffix == ".rs"
    for number, line in enumerate(lines):
        match = _RUST.match(line) if rust else _C.match(line)
        if match is None or line.endswith(";"):
            continue
        head = "".join(lines[number : number + 12])
        if "{" not in head or 0 <= head.find(";") < head.find("{"):
            continue
        end = (match[1] if rust else "") + "}"
        last = next((at for at in range(number, len(lines)) if lines[at] == end), number)
        length = last - number + 1
        beside = lines[max(0, number - 4) : last]
        if length > FUNCTION_LINES and not any(REASON.search(one) for one in beside):
            name = match[5] if rust else match[1]
            yield Long(str(path.relative_to(ROOT)), name, length)


def modules() -> dict[str, Path]:
    """The package's modules by dotted name."""
    found = {}
    for path in files(".py", folders=("python",)):
        name = ".".join(path.relative_to(ROOT / "python").with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imports() -> dict[str, set[str]]:
    """Which module imports which: everywhere in its text, also by name, and for the type checker alone."""
    known = modules()
    found: dict[str, set[str]] = {}
    for name, path in known.items():
        wanted: set[str] = set()
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Import):
                wanted |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: relative imports are not used here"
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    wanted.add(inner if inner in known else str(node.module))
            elif isinstance(node, ast.Call):
                wanted |= _by_name(node, name, known)
        found[name] = {one for one in wanted if one in known and one != name}
    return found


def _by_name(call: ast.Call, here: str, known: Container[str]) -> set[str]:
    """What a call imports that is given a module's name, or (f"iowhy.cli.{name}", modules_of) a package's."""
    called = ast.unparse(call.func).rpartition(".")[2]
    if called not in ("import_module", "__import__", "modules_of") or not call.args:
        return set()
    given = call.args[0]
    if isinstance(given, ast.JoinedStr):
        given = given.values[0]
    if isinstance(given, ast.Name) and given.id == "__name__":
        given = ast.Constant(here)
    if not isinstance(given, ast.Constant) or not str(given.value).startswith(PACKAGE):
        return set()
    name = str(given.value)
    if called == "modules_of" or name.endswith("."):
        name = f"{name.rstrip('.')}."
        return {one for one in modules() if one.startswith(name) and "." not in one[len(name) :]}
    return {name} if name in known else set()


def room(module: str) -> str:
    """The room of a module: `iowhy.whys.facts.rows` lies in `whys`; `iowhy` itself in ``""``."""
    return ".".join(module.split(".")[1:2])


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Sets of modules that import each other, directly or through others (Tarjan's components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            component, stack[at:] = stack[at:], []
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def same_names() -> dict[str, list[str]]:
    """File names that neighbouring rooms share: two rooms of one house, or a room and what lies in it."""
    rooms: dict[str, list[str]] = defaultdict(list)
    for name, path in modules().items():
        if path.name != "__init__.py":
            rooms[path.name].append(name.rpartition(".")[0])
    found = {}
    for file, where in rooms.items():
        near = {
            place
            for place in where
            for other in where
            if place != other and _neighbours(place, other)
        }
        if near:
            found[file] = sorted(near)
    return found


def _neighbours(one: str, other: str) -> bool:
    above, below = one.rpartition(".")[0], other.rpartition(".")[0]
    return above in (below, other) or below == one


def unused_functions() -> list[str]:
    """Public functions and methods that nothing in the package, its benchmarks or tools names."""
    defined: dict[str, list[str]] = defaultdict(list)
    used: set[str] = set()
    for path in files(".py", folders=("python", "benchmarks", "benchmark")):
        tree = tree_of(path)
        registered = {
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.decorator_list
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                properties = {ast.unparse(one) for one in node.decorator_list}
                plain = properties <= {"property", "classmethod", "staticmethod", "cache"}
                if node not in registered or plain:
                    defined[node.name].append(str(path.relative_to(ROOT)))
            elif isinstance(node, ast.Name):
                used.add(node.id)
            elif isinstance(node, ast.Attribute):
                used.add(node.attr)
            elif isinstance(node, ast.alias):
                used.add(node.name.rpartition(".")[2])
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                used |= set(re.findall(r"\w+", node.value)) if len(node.value) < 80 else set()
    for tool in (ROOT / "tools").iterdir():
        used |= set(re.findall(r"\w+", tool.read_text()))
    # Textual calls what a key's binding names, and handlers by the names of their events.
    used |= {
        name
        for name, paths in defined.items()
        if (name.startswith("action_") and name.removeprefix("action_") in used)
        or (name.startswith("on_") and all("/views/top/" in path for path in paths))
    }
    return sorted(
        f"{path}:{name}" for name, paths in defined.items() if name not in used for path in paths
    )
