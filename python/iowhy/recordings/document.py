"""docs/recording.md from the schema: `python -m iowhy.recordings.document > docs/recording.md`."""

from iowhy.recordings.schema import VERSION, tables

HEAD = f"""\
# A recording

<!-- Made from python/iowhy/tables/schema.toml by `python -m iowhy.recordings.document`. -->

A recording is a directory `NAME.iowhy/` with `manifest.json` and one folder of Parquet files per
table (schema version {VERSION}). Files are written under a name that ends in `.tmp` and renamed when
they are closed (every three seconds, later, and soon where little happens, every minute), so that what is there after a crash opens. `iowhy check NAME.iowhy`
says whether a recording is whole; `iowhy sql NAME.iowhy "SELECT …"` asks it anything. `iowhy
pack NAME.iowhy` makes one file of it: a ZIP archive of that directory, not compressed (Parquet is), which all commands read.

All whole numbers are 64-bit signed. Units are in the names: `_ns`, `_bytes`, `_pages`. Times are
nanoseconds of CLOCK_MONOTONIC; `clock` in the manifest holds one instant on that clock and on the
wall clock. `dev` is the kernel's device number, major << 20 | minor. **NULL means unknown**, never
0: a sensor that did not run leaves NULL or no rows, and the manifest says why.

## manifest.json

| key | meaning |
|---|---|
| schema · iowhy | version of the tables · version of iowhy that wrote it |
| source | `live` (eBPF), `proc` (/proc alone) or `diagnose` (what other tools printed) |
| complete | false while recording, and after the recorder was killed |
| host | name, kernel, machine, cpus, memory_bytes, page_bytes, os |
| clock | monotonic_ns and wall_ns of one instant |
| command | mode (run, attach, block: of a program that records itself, machine, paste), argv, groups (`--container`, `web`: what names control groups), cwd, user, exit_status, signal, start_ns, end_ns |
| sensors | name, ran, and why it did not, or what it does not say on this kernel |
| tables | per table the rows kept and lost |
| recorder | its version, CPU time, peak memory, pid; what it cost a call when it started: call_ns (one that does nothing), call_passing_ns (of it, the way to the programs and back), call_lookup_ns (more, where the page cache is asked) |
| inputs | for `diagnose`: file, tool, version, lines, units, tables that it filled, why it shows only a part (`partial`), rows of numbers read (`figures`) and not (`skipped`) |
| notes | what else a reader should know |
"""


def document() -> str:
    """The whole page."""
    parts = [HEAD]
    for table in tables().values():
        lines = [f"\n## {table.name}\n", f"A row is {table.row}.\n", "| column | type | meaning |"]
        lines.append("|---|---|---|")
        for column in table.columns:
            absent = f" (NULL: {column.null})" if column.null else ""
            lines.append(f"| {column.name} | {column.type} | {column.doc}{absent} |")
        parts.append("\n".join(lines) + "\n")
    return "".join(parts)


if __name__ == "__main__":
    print(document(), end="")
