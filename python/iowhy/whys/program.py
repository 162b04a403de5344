"""What programs can be set to, as data: `iowhy/whys/programs/NAME.toml`, one file for each program.

A file says by what the program is known and, by cause, which of its settings helps, what that risks and where its
documentation says so:

    name = "SQLite"
    version = "3"                       # whose documentation was read
    documentation = "https://…"
    clients = ["libpq.so", "*/pg/lib/client.js"]  # optional: libraries, or patterns of files, of those who ask its server to do the work
    server = ["postgres"]               # optional: the names that that server's process may have
    finished = true                     # optional: who runs it does not program it: what only its authors can do is left out
    once = true                         # optional: what it has done is done: a second run neither helps nor proves anything
    own = ["*-wal"]                     # optional: patterns of the files that it syncs and reads itself, where a library does the work
    next_to = ["-wal"]                  # optional: ends of names: a file is its own, too, if there is one with such an end next to it
    typed_as = ["npm"]                  # optional: what is typed to start it, next to the names of its executables

    [[known_by]]                        # one of these, with all that it names
    executable = "sqlite3"              # its file was opened, and a process of that name did a part of the work
    library = "libsqlite3.so"           # was mapped; versions may follow, and what a wheel of Python puts into its name
    code = "go.etcd.io/bbolt."          # functions whose names begin so are on the path of the finding's time, and nothing else is asked
    files = ["*-wal", "*-shm"]          # patterns of paths: each is that of some file

    [remedies.batch-changes]            # its id
    causes = ["sync-storm"]             # names of causes
    calls = ["unlink"]                  # optional: only where one of these is among the three that take most time (of CPUs, if it is about those)
    filesystems = ["xfs"]               # optional: only where what is waited for longest is on one of this kind
    computes = true                     # optional: only where more of the CPU time is the program's own than the kernel's
    files = ["*/hsperfdata_*/*"]        # optional: only if there is a file of each pattern
    syncs = ["*.dpkg-new"]              # optional: patterns of the files whose syncs it ends; without: of any
    spares = ["*/rpmdb.sqlite*"]        # optional: patterns of files whose syncs it leaves
    syncs_by = "writes"                 # optional: it ends only syncs that are writes (O_SYNC, O_DSYNC), or only "calls" (fsync and the like)
    syncing_threads = 2                 # optional: only where so many threads or more sync files of `syncs`
    reads = ["*.jar"]                   # optional: patterns of the files whose reads it ends (about CPUs: what these calls take); without: of any
    ends_calls = ["getdents64"]         # optional: calls on names that it leaves out, of a finding about such
    words = ["--checksum"]              # optional, as all down to again (iowhy.whys.applies): only if it was, or may have been, typed with one
    unless = ["-j*"]                    # not where it was typed with one of these
    worked = ["rustc"]                  # only where one of these executables did a part of the work
    files_read = 20                     # only where the data of so many files were read
    files_written_at_most = 5           # and of no more than so many written
    bytes_at_most = 32768               # only where its reads and writes moved so many bytes each, on average, or fewer
    without_files = ["*-wal"]           # only if there is no file of any of these patterns
    without_calls = ["ioctl"]           # only if none of these calls was made
    without_done = ["link"]             # only if none of these calls succeeded
    single_threaded = true              # only where no process has a second thread
    processes_at_most = 2               # only where no more processes than so many were at work
    shrinks = true                      # only where it, or those that `worked`, read more than they write: who takes apart does not
    again = true                        # only where it reads what had been in memory before, or ran already before it was recorded
    code = ["libx264.so*", "compile"]   # optional: patterns of the libraries, executables or functions whose computing it ends
    orders = true                       # optional: it changes only the order of what is read
    less = true                         # optional: it leaves work out, instead of doing it on more CPUs
    logged = ["a temporary file"]       # optional: where its log says this (what of sources/formats/app_log.py), too
    at_once = true                      # optional: it reads as much, but more of it at once, whatever the files are called
    authors = true                      # optional: the program must be changed; not for users of somebody else's
    object = "orders"                   # of `do`, what is the name of a table or index: replaced by the one that is waited for, if known
    do = "…"
    risk = "…"                          # what may go wrong, is lost or gets slower
    link = "https://…"

A remedy is about what the program itself syncs and reads: its processes, if it is known by its executable, and its own files. One that
is known by anything else names its own files, or each of its remedies does. A remedy
that ends only some of the syncs, or of the reads, gains no more than their share of the time in syncs, or of the time of
requests that read files, and if that is next to nothing it is not offered. One that changes only an order gains what the cause says of that (by_order of a candidate), one that leaves
work out or reads more at once likewise (by_less, by_depth), or if its code is named, the time on CPUs that samples show in it.
"""

from collections.abc import Iterable, Mapping
from functools import cache

from msgspec import Struct, toml
from msgspec.structs import replace

from iowhy.package_files import files_by_name
from iowhy.sentences import named
from iowhy.units import percent
from iowhy.whys import classes
from iowhy.whys.applies import Conditions, applies, given
from iowhy.whys.evidence import claimed, direct_io
from iowhy.whys.facts import Facts, filesystems
from iowhy.whys.facts.compressing import share_of_code
from iowhy.whys.facts.programs import executables, matched
from iowhy.whys.facts.read_files import share_of_cpu, share_of_reads
from iowhy.whys.facts.requests import read_again
from iowhy.whys.facts.synced import Own, share_of_syncs, threads_that_sync
from iowhy.whys.finding import Claim, Link
from iowhy.whys.in_which_statement import most_waited_for
from iowhy.whys.remedy import Remedy
from iowhy.whys.thresholds import LISTED

#: How many of the calls that take most time a remedy's calls must be among.
HEAVIEST = 3
#: From this share of the time in syncs, or in reads, on, a remedy ends all of them: the rest is the program's start and end.
ALL = 0.9


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """By what a program is known: all that is named must be there."""

    executable: str | None = None
    library: str | None = None
    code: str | None = None
    files: tuple[str, ...] = ()


class Setting(Conditions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A setting, for which causes it helps, what it risks, and where that is documented."""

    causes: tuple[str, ...]
    do: str
    risk: str
    link: str
    object: str | None = None
    calls: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    syncs: tuple[str, ...] = ()
    spares: tuple[str, ...] = ()
    syncs_by: str = ""
    syncing_threads: int | None = None
    reads: tuple[str, ...] = ()
    ends_calls: tuple[str, ...] = ()
    computes: bool = False
    code: tuple[str, ...] = ()
    filesystems: tuple[str, ...] = ()
    orders: bool = False
    less: bool = False
    at_once: bool = False
    authors: bool = False
    logged: tuple[str, ...] = ()

    @property
    def partial(self) -> bool:
        """Whether it ends only some of the syncs."""
        return bool(self.syncs or self.spares or self.syncs_by)


class Program(Struct, frozen=True, forbid_unknown_fields=True):
    """A program, by what it is known, and what it can be set to."""

    name: str
    version: str
    documentation: str
    known_by: tuple[Rule, ...]
    remedies: dict[str, Setting] = {}
    clients: tuple[str, ...] = ()
    server: tuple[str, ...] = ()
    finished: bool = False
    typed_as: tuple[str, ...] = ()
    once: bool = False
    own: tuple[str, ...] = ()
    next_to: tuple[str, ...] = ()
    #: The name of its file.
    id: str = ""
    #: Its processes in a recording; empty where it is not known by its executable there.
    tgids: frozenset[int] = frozenset()
    #: It is known as a library that another program calls.
    by_library: bool = False

    @property
    def names(self) -> frozenset[str]:
        """What is typed to start it."""
        own = (rule.executable for rule in self.known_by if rule.executable)
        return frozenset([*self.typed_as, *own])


def programs() -> tuple[Program, ...]:
    """All of them, by the names of their files."""
    return tuple(map(whole, _files()))


@cache
def _files() -> dict[str, str]:
    files = files_by_name("iowhy.whys", ".toml", "programs").items()
    return {name: file.read_text("utf-8") for name, file in files}


@cache
def whole(id_: str) -> Program:
    """One with its remedies."""
    return replace(toml.decode(_files()[id_], type=Program), id=id_)


@cache
def heads() -> tuple[Program, ...]:
    """All of them without their remedies, of which few are asked for: to read those of all takes longer than all else here."""
    parts = {name: text.partition("\n[remedies.")[0] for name, text in _files().items()}
    return tuple(replace(toml.decode(text, type=Program), id=name) for name, text in parts.items())


def for_logged(program: str, what: str) -> Setting | None:
    """The setting of a program that helps against what its log says."""
    return next(
        (
            one
            for known in programs()
            if known.name == program
            for one in known.remedies.values()
            if what in one.logged
        ),
        None,
    )


def at_work(facts: Facts) -> tuple[Program, ...]:
    """The programs that are known to have done the work of a recording."""
    if facts.run.pasted:
        return ()
    rules = [rule for one in heads() for rule in one.known_by]
    every = [text for rule in rules for text in patterns(rule)]
    seen = matched(facts.relations, every, installed=True)
    asked = (r.executable for r in rules if r.executable and seen.issuperset(patterns(r)))
    return known_by(executables(facts.relations, asked), seen)


def known_by(running: Mapping[str, frozenset[int]], seen: frozenset[str]) -> tuple[Program, ...]:
    """The programs of which a rule holds, by the executables at work, with their processes, and the patterns that a file has."""

    def holds(rule: Rule) -> bool:
        named = rule.code is None and (rule.executable is None or rule.executable in running)
        return named and seen.issuperset(patterns(rule))

    found = [(one, [r for r in one.known_by if holds(r)]) for one in heads()]
    return tuple(_at_work(whole(one.id), held, running) for one, held in found if held)


def in_code(links: Iterable[Link]) -> tuple[Program, ...]:
    """The programs that are known by the functions on the path of a finding's time: what these do is their own."""
    names = [frame.name for link in links for frame in link.frames]
    return tuple(
        whole(one.id)
        for one in heads()
        for rule in one.known_by
        if rule.code and any(name.startswith(rule.code) for name in names)
    )


def _at_work(program: Program, held: list[Rule], running: Mapping[str, frozenset[int]]) -> Program:
    """With its processes, if it is known by its executable; a library of its own names nobody else's."""
    tgids = frozenset().union(*(running[one.executable] for one in held if one.executable))
    return replace(program, tgids=tgids, by_library=bool(program.own) and not tgids)


def remedies(
    facts: Facts,
    known: Iterable[Program],
    cause: str,
    *,
    of_syncs: bool,
    of_reads: bool = False,
    of_cpu: bool = False,
    claims: tuple[Claim, ...] = (),
) -> tuple[Remedy, ...]:
    """What the programs at work can be set to against a cause, each with its risk and link.

    `of_syncs` says that the finding's time is waiting for syncs, `of_reads` for reads: then a remedy is worth those that it ends. Those that
    end most come first, else those of the program that was typed, else as the programs' files have them. `of_cpu` says that it is time on CPUs, or waiting for one, `claims` which time.
    """
    calls = _heaviest(facts, of_cpu=of_cpu)
    computes = facts.budget.elapsed(classes.USER) > facts.budget.elapsed(classes.KERNEL)
    kind = _waited_for(facts)
    found = []
    for program in sorted(known, key=lambda one: given(facts.run.argv, one.names) is None):
        for id_, one in program.remedies.items():
            if cause not in one.causes or (one.calls and not calls.intersection(one.calls)):
                continue
            if one.authors and facts.somebody_elses:
                continue
            if (one.computes and not computes) or (
                one.filesystems and kind not in (None, *one.filesystems)
            ):
                continue
            if one.files and len(matched(facts.relations, one.files)) < len(one.files):
                continue
            if not applies(facts, program.names, one) or not _shared(facts, one):
                continue
            own = _own(facts, program)
            part = left_out = _left_out(facts, one, claims)
            if part is None:
                part = _part(facts, one, own, of_syncs=of_syncs, of_reads=of_reads, of_cpu=of_cpu)
            if one.again and direct_io(facts):
                part = min(part, read_again(facts.relations) or 1.0)
            if part < LISTED:
                continue
            of = "calls" if left_out is not None else _of(one, part, reads=of_reads, cpu=of_cpu)
            ends = "" if part == 1.0 else f" (ends {percent(part)} of the time in {of})"
            found.append(
                Remedy(
                    do=named(f"{program.id}.{id_}", _about(facts, one) + ends, part=part),
                    risk=one.risk,
                    link=one.link,
                    program=program.name,
                    part=part,
                    of=of,
                    orders=one.orders,
                    less=one.less,
                    at_once=one.at_once,
                )
            )
    # What ends some computing saves all of that, another half of it all: they do not compare.
    return tuple(sorted(found, key=lambda one: -1.0 if one.of == "computing" else -one.part))


def _of(one: Setting, part: float, *, reads: bool, cpu: bool) -> str:
    """What its part is a part of."""
    if cpu and (one.reads or (one.code and part < 1.0)):
        return "computing"
    return "reads" if one.reads or reads or one.again else "syncs"


def _about(facts: Facts, one: Setting) -> str:
    found = most_waited_for(facts.relations) if one.object else None
    return one.do.replace(one.object or "", found) if found else one.do


def _waited_for(facts: Facts) -> str | None:
    """What kind of filesystem is waited for longest; None if not known."""
    found = filesystems.of(facts.filesystems, filesystems.waited_for_most(facts.relations))
    return None if found is None else found.kind


def _heaviest(facts: Facts, *, of_cpu: bool) -> set[str]:
    """The calls that take most time, and enough of it to speak of."""
    spent = {
        name: (group.cpu_ns or 0.0) if of_cpu else group.total_ns
        for name, group in facts.calls.by_name.items()
    }
    least = LISTED * (facts.shares_of_ns or 0.0)
    return {
        name
        for name in sorted(spent, key=lambda name: -spent[name])[:HEAVIEST]
        if spent[name] >= least
    }


def _shared(facts: Facts, remedy: Setting) -> bool:
    """Whether as many threads sync as a remedy takes that lets them share one; true if not known."""
    if remedy.syncing_threads is None:
        return True
    found = threads_that_sync(facts.relations, remedy.syncs)
    return found is None or found >= remedy.syncing_threads


def _own(facts: Facts, program: Program) -> Own:
    """What of the recording is the program's: all if it is alone, else the work of its processes and what concerns its files."""
    alone = program.tgids and (facts.threads.processes or 0) <= len(program.tgids)
    return Own() if alone else Own(program.tgids, program.own, program.next_to)


def _left_out(facts: Facts, remedy: Setting, claims: tuple[Claim, ...]) -> float | None:
    """Of the time that is claimed of calls, the share of those that a remedy leaves out; None if neither is so."""
    ends = frozenset(remedy.ends_calls)
    if not ends or not claims or any(claim.calls is None for claim in claims):
        return None
    of = [replace(claim, calls=ends.intersection(claim.calls or ())) for claim in claims]
    every = claimed(facts, claims)
    part = claimed(facts, of) / every if every else 0.0
    return 1.0 if part >= ALL else part


def _part(
    facts: Facts, remedy: Setting, own: Own, *, of_syncs: bool, of_reads: bool, of_cpu: bool
) -> float:
    """Of the time in syncs, in reads, or on CPUs, the share of those that a remedy ends; 1 where that is about all, or none is known."""
    if of_cpu and remedy.code:
        part = share_of_code(facts.relations, remedy.code)
        return 1.0 if part is None else part
    if of_cpu and remedy.reads:
        return share_of_cpu(facts.relations, Own(files=remedy.reads)) or 0.0
    if remedy.reads or (of_reads and own.files and not own.tgids and not remedy.at_once):
        files = Own(files=remedy.reads) if remedy.reads else own
        part = share_of_reads(facts.relations, files)
    elif (of_syncs and (remedy.partial or own != Own())) or (
        own.files and classes.SYNC_CALLS.intersection(remedy.calls)
    ):
        spares = remedy.spares, remedy.syncs_by
        part = share_of_syncs(facts.relations, remedy.syncs, *spares, own)
    else:
        return 1.0
    return 1.0 if part is None or part >= ALL else part


def server_behind(facts: Facts) -> Program | None:
    """The program whose server did the work for this client, where its library was mapped; None without."""
    if facts.run.pasted:
        return None
    asked = {_client(name): one.id for one in heads() for name in one.clients}
    seen = matched(facts.relations, list(asked))
    return next((whole(id_) for text, id_ in asked.items() if text in seen), None)


def patterns(rule: Rule) -> tuple[str, ...]:
    """Of the files that it names."""
    return rule.files if rule.library is None else (_library(rule.library), *rule.files)


def _library(name: str) -> str:
    """The pattern of a library's path; of one in a wheel too, as auditwheel renames it: libpq-e8a033dd.so.5.16."""
    return f"*/{name.removesuffix('.so')}[-.]*so*"


def _client(name: str) -> str:
    return name if "/" in name else _library(name)
