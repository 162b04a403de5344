"""What I/O takes of the time of a job of many processes, by the records of Darshan's modules.

A job takes as long as its slowest process: of a file that all share, Darshan keeps the time of the slowest one; of others each
process has a record. A layer's calls contain those of the layers below, so a file counts where it was opened: in MPI-IO, else in POSIX,
stdio or DFS. What MPI-IO takes and the filesystem's calls below it do not is exchange between processes, waiting for each other, locks.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from iowhy.sources.format import Parsed

#: Layers that others come down to; none contains another's calls.
BOTTOM = ("POSIX", "STDIO", "DFS")
#: Share of the job's time in the open of one file from which it waits for another process.
PIPE = 0.1
PIPE_S = 10.0
_TIMES = ("read_s", "write_s", "metadata_s")
_Sums = dict[str, float]


class Layer(Struct, frozen=True):
    """The records of a module: whose they are (rank -1: of all processes), and a column for each metric."""

    ids: Any
    ranks: Any
    columns: Mapping[str, Any]

    def of(self, metric: str) -> Any:
        """A column; zeros if the module has none."""
        return self.columns.get(metric, np.zeros(len(self.ids)))

    def total(self, metric: str) -> float:
        """The sum over all records."""
        return float(self.of(metric).sum())

    def times(self) -> Any:
        """Time of each record."""
        return sum((self.of(name) for name in _TIMES), np.zeros(len(self.ids)))

    def only(self, ids: Any) -> "Layer":
        """The records of these files."""
        chosen = np.isin(self.ids, ids)
        return Layer(self.ids[chosen], self.ranks[chosen], {k: v[chosen] for k, v in self.columns.items()})  # fmt: skip

    def without(self, ids: Any) -> "Layer":
        """The records of all other files."""
        return self.only(np.setdiff1d(self.ids, ids))


def slowest(layers: list[Layer]) -> _Sums:
    """Time of the slowest process by what it does: with shared files as the slowest one of each has it."""
    found = dict.fromkeys(_TIMES, 0.0)
    by_rank: dict[int, _Sums] = {}
    for layer in layers:
        times = layer.times()
        for at in np.flatnonzero(times > 0):
            own = {name: float(layer.of(name)[at]) for name in _TIMES}
            rank = int(layer.ranks[at])
            if rank >= 0:
                sums = by_rank.setdefault(rank, dict.fromkeys(_TIMES, 0.0))
                for name, value in own.items():
                    sums[name] += value
                continue
            # Of whole seconds' clocks and of one process alone, the slowest has it all.
            part = min(1.0, (float(layer.of("slowest_s")[at]) or float(times[at])) / float(times[at]))  # fmt: skip
            for name, value in own.items():
                found[name] += value * part
    worst = max(by_rank.values(), key=lambda sums: sum(sums.values()), default={})
    return {name: value + worst.get(name, 0.0) for name, value in found.items()}


def _moving(sums: _Sums) -> float:
    return sums["read_s"] + sums["write_s"]


def _at_once(parsed: Parsed, subject: str, layers: list[Layer]) -> None:
    """How many processes read and write at a time, on average, while the slowest one does."""
    slowest_s = _moving(slowest(layers))
    if slowest_s:
        whole = sum(one.total("read_s") + one.total("write_s") for one in layers)
        parsed.measure(subject, "ranks_at_once", whole / slowest_s)


def emit(
    parsed: Parsed,
    layers: Mapping[str, Layer],
    run_s: float,
    servers: Mapping[int, Sequence[int]],
    paths: Mapping[int, str],
) -> None:
    """Elapsed seconds of the job by what they went into, how many processes did it, and the file that takes most."""
    mpi = layers.get("MPI-IO")
    below = [_heard(parsed, layers[name], run_s) for name in BOTTOM if name in layers]
    if run_s <= 0:
        return
    if not below:
        parsed.note("the log has no calls of I/O that are read")
    shared = np.zeros(0, dtype=np.uint64) if mpi is None else mpi.ids
    elapsed = slowest([one.without(shared) for one in below])
    if mpi is not None:
        through, filesystem = slowest([mpi]), slowest([one.only(shared) for one in below])
        moved, own = _moving(through), _moving(filesystem)
        # Before it writes, MPI-IO may read what lies between: what a call is for, and what it does, are two things.
        for name in ("read_s", "write_s"):
            elapsed[name] += filesystem[name] * min(1.0, moved / own) if own else through[name]
        elapsed["exchange_s"] = max(0.0, moved - own) if own else 0.0
        elapsed["metadata_s"] += through["metadata_s"]
    whole = sum(elapsed.values())
    scale = min(1.0, run_s / whole) if whole else 1.0
    for name, value in elapsed.items():
        parsed.measure("job", f"elapsed_{name}", value * scale)
    parsed.measure("job", "elapsed_other_s", max(0.0, run_s - whole))
    _at_once(parsed, "job", below)
    if below:
        _straggler(parsed, below, servers)
    for module in BOTTOM:
        if module in layers:
            _patterns(parsed, module, layers[module])
    _heaviest(parsed, mpi, below, servers, paths)


def _heard(parsed: Parsed, layer: Layer, run_s: float) -> Layer:
    """Without files of which an open takes a good part of the job: pipes, whose other end comes late."""
    each_s = layer.of("metadata_s") / np.maximum(layer.of("open_count"), 1)
    pipes = (each_s >= max(PIPE * run_s, PIPE_S)) & (layer.ranks >= 0)
    if not pipes.any():
        return layer
    parsed.note(
        f"an open of {int(pipes.sum()):,} files took more than {100 * PIPE:.0f} % of the job: they are taken for pipes, "
        "whose other end came late, and not counted"
    )
    return Layer(layer.ids[~pipes], layer.ranks[~pipes], {k: v[~pipes] for k, v in layer.columns.items()})  # fmt: skip


def _straggler(parsed: Parsed, below: list[Layer], servers: Mapping[int, Sequence[int]]) -> None:
    """The slowest process, of those with files that they do not share, next to the median one."""
    ranks = np.concatenate([one.ranks for one in below])
    seconds = np.concatenate([one.of("read_s") + one.of("write_s") for one in below])
    moved = np.concatenate([one.of("read_bytes") + one.of("written_bytes") for one in below])
    ids = np.concatenate([one.ids for one in below])
    own = (ranks >= 0) & (seconds > 0)
    if not own.any():
        return
    unique, place = np.unique(ranks[own], return_inverse=True)
    sums, volumes = np.bincount(place, weights=seconds[own]), np.bincount(place, weights=moved[own])
    worst = int(sums.argmax())
    of_worst = np.flatnonzero(own & (ranks == unique[worst]))
    file = int(ids[of_worst[seconds[of_worst].argmax()]])
    for metric, value in (
        ("ranks_active", len(unique)),
        ("slowest_rank", unique[worst]),
        ("slowest_rank_s", sums[worst]),
        ("slowest_rank_bytes", volumes[worst]),
        ("median_rank_s", np.median(sums)),
        ("median_rank_bytes", np.median(volumes)),
    ):
        parsed.measure("job", metric, float(value))
    if len(servers.get(file, ())) == 1:
        parsed.measure("job", "slowest_rank_server", float(servers[file][0]))


def _patterns(parsed: Parsed, module: str, layer: Layer) -> None:
    """What was read more than once, of files of which more is read than there is; and by whom files were used."""
    unique, place = np.unique(layer.ids, return_inverse=True)
    if "last_read" in layer.columns:
        ends, read = np.zeros(len(unique)), np.bincount(place, weights=layer.of("read_bytes"))
        np.maximum.at(ends, place, layer.of("last_read") + 1)
        again = read > ends
        seconds = np.bincount(place, weights=layer.of("read_s"))[again]
        parsed.measure(module, "again_bytes", float(read[again].sum()))
        parsed.measure(module, "again_distinct_bytes", float(ends[again & (read > 0)].sum()))
        spent = seconds * (1 - ends[again] / np.maximum(read[again], 1))
        parsed.measure(module, "again_s", float(spent[read[again] > 0].sum()))
    counts = np.bincount(place)
    shared = np.isin(layer.ids, unique[counts > 1]) | (layer.ranks < 0)
    parsed.measure(module, "shared_files", float(len(np.unique(layer.ids[shared]))))
    moved = layer.of("read_count") + layer.of("write_count")
    parsed.measure(module, "shared_count", float(moved[shared].sum()))
    if "alignment_bytes" in layer.columns:
        parsed.measure(module, "alignment_bytes", float(layer.of("alignment_bytes").max()))


def _shared(records: Layer) -> bool:
    """Whether more than one process used a file."""
    return bool((records.ranks < 0).any()) or len(np.unique(records.ranks)) > 1


def _heaviest(
    parsed: Parsed,
    mpi: Layer | None,
    below: list[Layer],
    servers: Mapping[int, Sequence[int]],
    paths: Mapping[int, str],
) -> None:
    """The file that is moved for the longest: for how long, by how many processes at once, on how many servers."""
    best: tuple[float, Any, Layer] | None = None
    for layer in [one for one in (mpi, *below) if one is not None and len(one.ids)]:
        unique, place = np.unique(layer.ids, return_inverse=True)
        times = np.bincount(place, weights=layer.of("read_s") + layer.of("write_s"))
        at = int(times.argmax())
        if best is None or times[at] > best[0]:
            best = (float(times[at]), unique[at], layer)
    if best is None or not best[0]:
        return
    identity = best[1]
    subject = f"file {paths.get(int(identity)) or identity}"
    parsed.measure(subject, "elapsed_s", _moving(slowest([best[2].only([identity])])))
    own = [one.only([identity]) for one in below]
    parsed.measure(
        subject, "bytes", sum(one.total("read_bytes") + one.total("written_bytes") for one in own)
    )
    _at_once(parsed, subject, own)
    parsed.measure(subject, "shared", float(_shared(best[2].only([identity]))))
    if int(identity) in servers:
        parsed.measure(subject, "stripes", float(len(servers[int(identity)])))
