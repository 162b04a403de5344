"""Programs that ask for a byte at a time, and the same with a buffer: Java, Python."""

import sys
from pathlib import Path

from iowhy.lab import shell
from iowhy.lab.scenario import COMPUTES, Plan, Scenario, Variant
from iowhy.lab.stage import Stage

_JAVA = """
import java.io.*;
class Sum {
  public static void main(String[] words) throws IOException {
    InputStream file = new FileInputStream(words[0]);
    if (words[1].equals("buffered")) file = new BufferedInputStream(file);
    long sum = 0;
    for (int one = file.read(); one >= 0; one = file.read()) sum += one;
    System.out.println(sum);
  }
}
"""
_PYTHON = """
import csv, sys
with open(sys.argv[1], "rb", buffering=int(sys.argv[2])) as file:
    print(sum(int(row[1]) for row in csv.reader(line.decode() for line in file)))
"""


def _table(stage: Stage, mebibytes: float) -> Path:
    path = stage.scratch_filesystem(256).path / "table.csv"
    size = stage.choice.size(mebibytes, 1 << 18)
    rows = (f"item {number:06},{number % 1000:03},text\n" for number in range(size // 20))
    path.write_text("".join(rows))
    return path


def _java(stage: Stage, how: str) -> Plan:
    source = stage.folder / "Sum.java"
    source.write_text(_JAVA)
    shell.run(("javac", "-d", str(stage.folder), str(source)))
    return Plan(("java", "-cp", str(stage.folder), "Sum", str(_table(stage, 1)), how))


def _python(stage: Stage, buffering: int) -> Plan:
    # Unbuffered, a line is read byte by byte (io.RawIOBase has no peek).
    return Plan((sys.executable, "-c", _PYTHON, str(_table(stage, 1.5)), str(buffering)))


SCENARIOS = (
    Scenario(
        name="java-unbuffered",
        title="Java reads a file byte by byte",
        variants=(
            Variant("bytes", "FileInputStream", lambda s: _java(s, "bare"), ("small-requests",)),
            Variant("buffered", "BufferedInputStream", lambda s: _java(s, "buffered"), COMPUTES),
        ),
        devices=("memory",),
        remedy=("small-requests.larger",),
        tools=("javac", "java"),
    ),
    Scenario(
        name="python-csv",
        title="Python reads a table line by line from a file without a buffer",
        variants=(
            Variant("unbuffered", "buffering=0", lambda s: _python(s, 0), ("small-requests",)),
            Variant("buffered", "64 KiB", lambda s: _python(s, 1 << 16), COMPUTES),
        ),
        remedy=("small-requests.larger",),
        devices=("memory",),
    ),
)
