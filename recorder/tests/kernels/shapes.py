"""Writes down the tracepoints that the recorder's programs use, as one kernel has them.

    python shapes.py 6.1 vmlinux ext4 jbd2 xfs btrfs > 6.1.txt

The files are the kernel's type information and that of its modules (/sys/kernel/btf/*, or the .BTF section of
vmlinux and of *.ko). A line is a tracepoint and its parameters without the kernel's own first one: the name of
the structure that each points to, or "-". A tracepoint that is not listed is not in that kernel. Needs bpftool.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

Type = dict[str, object]
BPF = Path(__file__).parents[2] / "bpf"


def types(file: str, base: str | None) -> dict[int, Type]:
    command = ["bpftool", *(["-B", base] if base else []), "-j", "btf", "dump", "file", file]
    dump = subprocess.run(command, capture_output=True, check=True).stdout
    return {t["id"]: t for t in json.loads(dump)["types"]}


def pointed_to(known: dict[int, Type], number: int) -> str:
    if known.get(number, {}).get("kind") != "PTR":
        return "-"
    at = known.get(known[number]["type_id"], {})
    while at.get("kind") in ("CONST", "VOLATILE", "TYPEDEF", "RESTRICT", "TYPE_TAG"):
        at = known.get(at["type_id"], {})
    return str(at["name"]) if at.get("kind") in ("STRUCT", "FWD") else "-"


def main(kernel: str, vmlinux: str, *modules: str) -> None:
    wanted = {
        name
        for source in sorted(BPF.glob("*.h"))
        for name in re.findall(r'SEC\("tp_btf/(\w+)"\)', source.read_text())
    }
    base = types(vmlinux, None)
    shapes: dict[str, str] = {}
    for known in (base, *({**base, **types(module, vmlinux)} for module in modules)):
        for one in known.values():
            name = str(one["name"]).removeprefix("btf_trace_")
            if one["kind"] != "TYPEDEF" or one["name"] == name or name not in wanted:
                continue
            proto = known[known[one["type_id"]]["type_id"]]
            shapes[name] = " ".join(pointed_to(known, p["type_id"]) for p in proto["params"][1:])
    print(f"# Linux {kernel}: written by shapes.py")
    for name, shape in sorted(shapes.items()):
        print(name, shape)


main(*sys.argv[1:])
