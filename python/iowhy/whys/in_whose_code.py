"""In whose code a finding's time is: the path of functions that carries most of it, where one carries a third."""

import re
from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations
from iowhy.relations.interpreters import NAMED_BY_A_MAP, interpreter
from iowhy.sentences import worded
from iowhy.units import percent
from iowhy.whys import classes
from iowhy.whys.chain import link
from iowhy.whys.facts import Facts
from iowhy.whys.facts.sleeps import Sleep
from iowhy.whys.finding import Claim, CodeFrame, Finding, Link
from iowhy.whys.settle import matches

#: A path is named from this part of a finding's time on.
LEAST = 1 / 3
#: Of how many stacks the path is made: those with most of the time. What others have counts as other code's.
_STACKS = 200
#: Functions of a path in a sentence.
_SHOWN = 5
_REPORT = "callers"
#: Where a thread begins: of no interest to who wrote what runs in it.
_STARTS = frozenset({
    "_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "start_thread", "clone", "clone3",
    "__clone", "__clone3", "_init", "std::rt::lang_start", "std::rt::lang_start_internal", "runtime.goexit",
})  # fmt: skip
_C_LIBRARY = re.compile(r"(libc|libpthread|ld-linux[-\w]*|ld-musl[-\w]*)[.-].*|\[vdso\]")
#: Functions that a language brings along: Rust's and C++'s by the names of their crates and namespaces, Go's by the packages of its
#: standard library.
_GO = (
    "archive|bufio|bytes|cmp|compress|container|context|crypto|database|debug|embed|encoding|errors|expvar|flag|fmt|go|hash|html|image|"
    "index|internal|io|iter|log|maps|math|mime|net|os|path|plugin|reflect|regexp|runtime|slices|sort|strconv|strings|structs|sync|"
    "syscall|testing|text|time|unicode|unique|unsafe|vendor|weak"
)
_LIBRARIES = re.compile(
    rf"<?(?:&(?:mut )?)?(?:dyn )?(?:std|core|alloc|__gnu_cxx)::.+|<fn\(.+ as core::.+|(?:{_GO})(?:/[^.:]+)?\..+"
)
#: Files of C++'s library, of which parts are inlined without the names of their namespaces, and of Rust's.
_LIBRARY_FILES = re.compile(r".*/include/c\+\+/.+|/rustc/.+")
#: What of Rust's library calls a program's main; it is called by one in C itself.
_RUNTIME = re.compile(r"std::rt::.+")


class Path(Struct, frozen=True):
    """Functions, innermost first, and the part of the time (0..1) that they and what they call have."""

    frames: tuple[CodeFrame, ...]
    share: float


def in_whose_code(facts: Facts, claims: tuple[Claim, ...]) -> tuple[Link, ...]:
    """The links of a finding that say so; none where stacks were not recorded, or no path has a third of its time."""
    submitted = _submitted(facts, claims)
    if submitted is not None:
        return (submitted,)
    asleep = facts.sleeper if {*claims} == {Claim(frozenset({classes.IDLE}))} else None
    found = (
        heaviest_path(facts.relations, claims)
        if asleep is None
        else _path_of_sleep(facts.relations, asleep)
    )
    if found is None:
        return ()
    computes = all(claim.classes <= {*classes.CPU, classes.RUNNABLE} for claim in claims)
    frames = found.frames if computes else callers(found.frames)
    said = worded(
        "in-whose-code",
        ("in" if computes else "called by") + " {path} (sampled, {share:share} of that time)",
        path=in_words(frames),
        share=found.share,
    )
    made = replace(link(said, found.share, "share", _REPORT), frames=frames)
    return made, *_missing_script(facts.relations, found.frames)


def _submitted(facts: Facts, claims: tuple[Claim, ...]) -> Link | None:
    """For time that is spent waiting for operations of io_uring or libaio: who submits them, which is not who collects them."""
    claimed = [
        piece for piece in facts.budget.pieces if any(matches(claim, piece) for claim in claims)
    ]
    collects = classes.REAPS | classes.IDLE_CALLS
    waits = sum(p.elapsed for p in claimed if p.cls in classes.STORAGE and p.call in collects)
    if 2 * waits <= sum(piece.elapsed for piece in claimed):
        return None
    apis = "SELECT api FROM async_operations GROUP BY api ORDER BY count(*) DESC"
    api = facts.relations.value(str, apis)
    if api is None:
        return None
    found = path_of_calls(facts.relations, "io_submit" if api == "libaio" else "io_uring_enter")
    if found is None:
        return None
    frames = callers(found.frames)
    said = f"submitted by {in_words(frames)} (sampled, {percent(found.share)} of the submissions)"
    return replace(link(said, found.share, "share", _REPORT), frames=frames)


def without_code(finding: Finding) -> Finding:
    """A finding for others' eyes: names of functions reveal what a program is."""
    chain = tuple(link for link in finding.chain if link.report != _REPORT)
    return replace(finding, chain=chain)


def heaviest_path(relations: Relations, claims: Iterable[Claim]) -> Path | None:
    """The path with a third of what is claimed; of several the one that has most at each call."""
    condition = " OR ".join(_condition(claim) for claim in claims)
    if not condition or not _sampled(relations):
        return None
    all_ns = relations.value(
        int, f"SELECT sum(thread_ns) FROM budget_pieces AS t WHERE {condition}"
    )
    weights = f"""SELECT user_stack_id, class_ns AS weight
      FROM (SELECT s.user_stack_id, s.class_ns, s.syscall, c.class
            FROM stack_times s JOIN budget_classes c ON c.key = s.class) AS t
      WHERE {condition}"""
    return _of_weights(relations, weights, all_ns)


def path_of_calls(relations: Relations, call: str) -> Path | None:
    """The path with a third of the calls of one name, by what samples of them represent."""
    if not _sampled(relations):
        return None
    weights = f"SELECT user_stack_id, calls AS weight FROM stack_samples WHERE syscall = {text_literal(call)}"
    all_calls = relations.value(int, f"SELECT sum(weight) FROM ({weights}) AS t")
    return _of_weights(relations, weights, all_calls)


def _path_of_sleep(relations: Relations, sleep: Sleep) -> Path | None:
    """The path of the thread that sets the pace, and of others of its name, not of those that wait for it."""
    if not _sampled(relations):
        return None
    alike = (
        f"SELECT tgid FROM threads WHERE comm IN (SELECT comm FROM threads WHERE tid = {sleep.tid})"
    )
    weights = f"""SELECT user_stack_id, sleeping_ns AS weight FROM stack_samples
      WHERE syscall = {text_literal(sleep.call)} AND sleeping_ns > 0 AND tgid IN ({alike})"""
    return _of_weights(
        relations, weights, relations.value(int, f"SELECT sum(weight) FROM ({weights}) AS t")
    )


def _sampled(relations: Relations) -> bool:
    return relations.has("stack_samples") and relations.has("user_stacks")


def _of_weights(relations: Relations, weights: str, whole: int | None) -> Path | None:
    """`weights`: SQL that gives stacks and what each has of the whole."""
    if not whole:
        return None
    stacks: dict[int, list[CodeFrame]] = defaultdict(list)
    weight: dict[int, int] = {}
    for stack, its_weight, *frame in relations.rows(_FRAMES.format(weights=weights, most=_STACKS)):
        weight[stack] = its_weight
        stacks[stack].append(CodeFrame(*frame))
    return _down(list(stacks.values()), list(weight.values()), whole)


#: Outermost first.
_FRAMES = """
WITH top AS (
  SELECT user_stack_id, CAST(sum(weight) AS BIGINT) AS weight
  FROM ({weights}) AS w
  WHERE user_stack_id IS NOT NULL AND weight IS NOT NULL
  GROUP BY user_stack_id ORDER BY weight DESC, user_stack_id LIMIT {most}
)
SELECT t.user_stack_id, t.weight, f.name, CASE WHEN f.named THEN f.name END AS function, f.module, f.source AS file, f.line
FROM top t JOIN named_frames f ON f.user_stack_id = t.user_stack_id
ORDER BY t.weight DESC, t.user_stack_id, f.depth DESC
"""


def _condition(claim: Claim) -> str:
    named = ", ".join(text_literal(name) for name in sorted(claim.classes))
    told = [f"t.class IN ({named})"] if named else ["false"]
    if claim.calls is not None and claim.classes <= classes.WAITING:
        calls = ", ".join(text_literal(name) for name in sorted(c for c in claim.calls if c))
        either = [f"t.syscall IN ({calls})"] if calls else []
        either += ["t.syscall IS NULL"] if None in claim.calls else []
        told.append(f"({' OR '.join(either) or 'false'})")
    return f"({' AND '.join(told)})"


def _down(stacks: list[list[CodeFrame]], weights: list[int], whole: int) -> Path | None:
    """From where threads begin, at each call to the function that has most, as long as it has a third."""
    inside = list(range(len(stacks)))
    path: list[CodeFrame] = []
    share = 0.0
    while True:
        below: dict[str, list[int]] = defaultdict(list)
        for at in inside:
            if len(stacks[at]) > len(path):
                below[stacks[at][len(path)].name].append(at)
        sums = {name: sum(weights[at] for at in found) for name, found in below.items()}
        heaviest = max(sums, key=lambda name: (sums[name], name), default=None)
        if heaviest is None or sums[heaviest] < LEAST * whole:
            break
        inside, share = below[heaviest], sums[heaviest] / whole
        # The line is that of the heaviest stack; where others call from other lines, none is said.
        frames = [stacks[at][len(path)] for at in inside]
        same = all((f.file, f.line) == (frames[0].file, frames[0].line) for f in frames)
        path.append(frames[0] if same else replace(frames[0], line=None))
    frames_found = tuple(reversed(path))
    return Path(frames_found, share) if _own(frames_found) else None


def callers(frames: tuple[CodeFrame, ...]) -> tuple[CodeFrame, ...]:
    """A path without the C library's functions that make the call itself."""
    at = 0
    while at + 1 < len(frames) and _C_LIBRARY.fullmatch(frames[at].module or ""):
        at += 1
    return frames[at:] if _own(frames[at:]) else frames


def _own(frames: Iterable[CodeFrame]) -> list[CodeFrame]:
    return [frame for frame in frames if frame.name.partition("@")[0] not in _STARTS]


def in_words(frames: tuple[CodeFrame, ...]) -> str:
    """The inner functions of a path: `sync_all (store.c:12) ← commit ← main`, a library's name where no line is known."""
    own = _of_program(_own(_of_script(frames)))
    shown = own[:_SHOWN]
    lines = [frame for frame in shown if frame.file and frame.line]
    located = next((frame for frame in lines if not _is_library(frame)), next(iter(lines), None))
    words = []
    for at, frame in enumerate(shown):
        place = ""
        if frame is located:
            place = f" ({(frame.file or '').rpartition('/')[2]}:{frame.line})"
        elif at == 0 and frame.function is not None and frame.module:
            place = f" ({frame.module})"
        words.append(frame.name + place)
    return " ← ".join(words) + (" ← …" if len(own) > len(shown) else "")


def _is_library(frame: CodeFrame) -> bool:
    return bool(_LIBRARIES.fullmatch(frame.name) or _LIBRARY_FILES.fullmatch(frame.file or ""))


def _of_program(frames: list[CodeFrame]) -> list[CodeFrame]:
    """Of a language's own functions the one that the program calls: `os.(*File).Sync ← main.save`; what they call is not the program's."""
    if all(_is_library(one) or _C_LIBRARY.fullmatch(one.module or "") for one in frames):
        return frames
    kept: list[CodeFrame] = []
    called: list[CodeFrame] = []
    for frame in frames:
        if _is_library(frame):
            called.append(frame)
            continue
        if called and not any(_RUNTIME.fullmatch(one.name) for one in called):
            kept.append(called[-1])
        called = []
        kept.append(frame)
    return kept


def _of_script(frames: tuple[CodeFrame, ...]) -> tuple[CodeFrame, ...]:
    """A path without the functions of an interpreter, where those of its script have names: between two of them are four of the interpreter's."""
    scripts = any(frame.module is None and frame.function is not None for frame in frames)
    if not scripts:
        return frames
    return tuple(frame for frame in frames if interpreter(frame.module) is None)


def _missing_script(relations: Relations, frames: tuple[CodeFrame, ...]) -> tuple[Link, ...]:
    """How to see a script's functions, where a path is an interpreter's and none of them has a name."""
    found = next(filter(None, (interpreter(frame.module) for frame in frames)), None)
    if found is None or relations.value(bool, NAMED_BY_A_MAP):
        return ()
    return (link(found.without_names, None, "", _REPORT),)
