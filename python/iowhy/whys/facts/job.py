"""A job of many processes, as Darshan's log has it: what its calls of I/O take, how large they are, and who makes them."""

from msgspec import Struct

from iowhy.whys.chain import link, percent, size
from iowhy.whys.facts.measured import Measured
from iowhy.whys.finding import Link

#: Reasons of the budget, as the relations of pasted time give them.
METADATA = "opening, looking up and closing files"
EXCHANGE = "exchanging data between processes within MPI-IO"
#: Modules that others come down to; none contains another's calls.
_BOTTOM = ("POSIX", "STDIO", "DFS")
#: stdio has no histogram of sizes: up to this mean its calls are small.
_SMALL_MEAN = 100_000
#: What a server of a parallel filesystem is asked for at once.
LARGE_BYTES = 1024 * 1024
#: Below, requests that begin within a block are not worth a word.
_UNALIGNED = 0.1
#: A header that is written again is less.
_REWRITTEN = 1.2


class Way(Struct, frozen=True):
    """Reading, or writing: calls, their bytes, those that are small for a parallel filesystem, those that go on behind the last one."""

    calls: float
    bytes: float
    small: float
    sequential: float

    @property
    def mean(self) -> float:
        """Bytes of a call."""
        return self.bytes / self.calls if self.calls else 0.0


class HeavyFile(Struct, frozen=True):
    """The file that is moved for the longest; `stripes`: servers that hold it, None if not known."""

    path: str
    elapsed_s: float
    bytes: float
    at_once: float | None
    stripes: int | None
    shared: bool


class Straggler(Struct, frozen=True):
    """The process that reads and writes for the longest, of `active` ones with files that they do not share, and the median one."""

    rank: int
    seconds: float
    bytes: float
    median_s: float
    median_bytes: float
    active: int
    server: int | None


class Job(Struct, frozen=True):
    """`at_once`: processes that read or write at a time while the slowest one does, on average."""

    run_s: float
    processes: int
    at_once: float | None
    reads: Way
    writes: Way
    file: HeavyFile | None
    straggler: Straggler | None
    modules: dict[str, dict[str, float]]

    def total(self, metric: str) -> float:
        """The sum over the modules that others come down to."""
        return sum(self.modules.get(name, {}).get(metric, 0.0) for name in _BOTTOM)

    def mpi(self, metric: str) -> float:
        """Of MPI-IO; 0 if it was not used."""
        return self.modules.get("MPI-IO", {}).get(metric, 0.0)

    @property
    def libraries(self) -> frozenset[str]:
        """The libraries for files of data that it used."""
        names = {"H5F": "HDF5", "H5D": "HDF5", "PNETCDF_FILE": "PnetCDF", "PNETCDF_VAR": "PnetCDF"}
        return frozenset(names[one] for one in self.modules if one in names)

    @property
    def rewritten(self) -> Link | None:
        """How much more MPI-IO writes than it is asked to, as it reads the gaps and writes them back."""
        asked = self.mpi("written_bytes")
        written = self.modules.get("POSIX", {}).get("written_bytes", 0.0)
        if not asked or written < _REWRITTEN * asked:
            return None
        return link(
            f"to write {size(asked)}, MPI-IO writes {size(written)}: it reads the gaps, and writes them back",
            written / asked,
            "times",
            "measurements",
        )

    @property
    def unaligned(self) -> Link | None:
        """The share of requests that begin or end within a block."""
        posix = self.modules.get("POSIX", {})
        calls = posix.get("read_count", 0.0) + posix.get("write_count", 0.0)
        share = posix.get("unaligned_count", 0.0) / calls if calls else 0.0
        if share < _UNALIGNED:
            return None
        return link(
            f"{percent(share)} of its requests are not aligned to blocks of {size(posix['alignment_bytes'])}",
            share,
            "share",
            "measurements",
        )


def measure(measured: Measured) -> Job | None:
    """None if there is no such log."""
    modules: dict[str, dict[str, float]] = {}
    files: dict[str, dict[str, float]] = {}
    for one in measured.numbers:
        if one.tool == "darshan":
            into = files if one.subject.startswith("file ") else modules
            if into is files or " " not in one.subject:
                into.setdefault(one.subject, {})[one.metric] = one.value
    about = modules.pop("job", {})
    if not about.get("run_s") or not about.get("processes"):
        return None
    return Job(
        run_s=about["run_s"],
        processes=round(about["processes"]),
        at_once=about.get("ranks_at_once"),
        reads=_way(modules, "read", "read_bytes"),
        writes=_way(modules, "write", "written_bytes"),
        file=_heaviest(files),
        straggler=_straggler(about),
        modules=modules,
    )


def _way(modules: dict[str, dict[str, float]], kind: str, moved: str) -> Way:
    calls = bytes_ = small = sequential = 0.0
    for name in _BOTTOM:
        found = modules.get(name, {})
        own, moved_bytes = found.get(f"{kind}_count", 0.0), found.get(moved, 0.0)
        tiny = own if own and moved_bytes / own < _SMALL_MEAN else 0.0
        calls, bytes_ = calls + own, bytes_ + moved_bytes
        small += found.get(f"small_{kind}s", tiny)
        # Only POSIX has it: others are taken to be in order.
        sequential += found.get(f"sequential_{kind}s", own)
    return Way(calls, bytes_, small, sequential)


def _straggler(about: dict[str, float]) -> Straggler | None:
    if "ranks_active" not in about:
        return None
    server = about.get("slowest_rank_server")
    return Straggler(
        rank=round(about["slowest_rank"]),
        seconds=about["slowest_rank_s"],
        bytes=about["slowest_rank_bytes"],
        median_s=about["median_rank_s"],
        median_bytes=about["median_rank_bytes"],
        active=round(about["ranks_active"]),
        server=None if server is None else round(server),
    )


def _heaviest(files: dict[str, dict[str, float]]) -> HeavyFile | None:
    if not files:
        return None
    subject, found = max(files.items(), key=lambda one: one[1].get("elapsed_s", 0.0))
    stripes = found.get("stripes")
    return HeavyFile(
        subject.removeprefix("file "),
        found.get("elapsed_s", 0.0),
        found.get("bytes", 0.0),
        found.get("ranks_at_once"),
        None if stripes is None else round(stripes),
        bool(found.get("shared")),
    )
