"""Programs that run, and say of themselves what would take all memory of who reads their names; they take next to nothing on the disk."""

import struct
from collections.abc import Callable
from pathlib import Path

MIB = 1 << 20
#: Elf64_Ehdr: where the table of sections is, and how many of what size. Elf64_Shdr: type, offset and size.
_SECTIONS_AT, _SECTION_COUNTS = 40, 58
_SECTION_NAME, _SECTION_OFFSET, _SECTION_SIZE = 0, 24, 32
_SECTION_BYTES = 64


class _Elf:
    """An ELF file that is changed where it lies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes = path.read_bytes()
        (self.sections_at,) = struct.unpack_from("<Q", self.bytes, _SECTIONS_AT)
        _, self.sections, names = struct.unpack_from("<HHH", self.bytes, _SECTION_COUNTS)
        names_at = self.header(names)
        (self.names_at,) = struct.unpack_from("<Q", self.bytes, names_at + _SECTION_OFFSET)

    def header(self, number: int) -> int:
        return int(self.sections_at + number * _SECTION_BYTES)

    def section(self, name: str) -> int:
        """Where its header is."""
        for number in range(self.sections):
            at = self.header(number)
            (of_name,) = struct.unpack_from("<I", self.bytes, at + _SECTION_NAME)
            begin = self.names_at + of_name
            if self.bytes[begin : self.bytes.index(b"\0", begin)].decode() == name:
                return at
        raise LookupError(name)

    def stretch(self, name: str, size: int) -> None:
        """The section lies at the end of the file and is as large as that, without a block of its own on the disk."""
        self._place(name, self.path.stat().st_size, size)
        with self.path.open("r+b") as file:
            file.truncate(self.path.stat().st_size + size)

    def put(self, name: str, content: bytes) -> None:
        """The section has this content."""
        self._place(name, self.path.stat().st_size, len(content))
        with self.path.open("ab") as file:
            file.write(content)

    def _place(self, name: str, offset: int, size: int) -> None:
        with self.path.open("r+b") as file:
            file.seek(self.section(name) + _SECTION_OFFSET)
            file.write(struct.pack("<QQ", offset, size))


def _stretched(**sizes: int) -> Callable[[_Elf], None]:
    def make(elf: _Elf) -> None:
        for name, size in sizes.items():
            elf.stretch(f".{name}", size)

    return make


def _small_units(elf: _Elf) -> None:
    """DWARF of four million units, twelve bytes each: what a reader keeps of a unit is many times that."""
    unit = struct.pack("<IHIBB", 8, 4, 0, 8, 1)
    elf.put(".debug_abbrev", bytes([1, 0x11, 0, 0, 0, 0]))
    elf.put(".debug_info", unit * (4 << 20))


def _many_sections(elf: _Elf) -> None:
    """As many sections as the first one's size says (ELF gABI, e_shnum)."""
    count = 1 << 31
    at = elf.path.stat().st_size
    with elf.path.open("r+b") as file:
        file.seek(_SECTIONS_AT)
        file.write(struct.pack("<Q", at))
        file.seek(_SECTION_COUNTS)
        file.write(struct.pack("<HHH", _SECTION_BYTES, 0, 1))
        file.seek(at + _SECTION_SIZE)
        file.write(struct.pack("<Q", count))
        file.truncate(at + count * _SECTION_BYTES)


#: By what is too large: how a program is made so, which was compiled with -g.
TOO_LARGE: dict[str, Callable[[_Elf], None]] = {
    "symbols": _stretched(symtab=256 << 30),
    "symbols and their names, each of which would do": _stretched(
        symtab=300 * MIB, strtab=300 * MIB
    ),
    "lines": _stretched(debug_info=300 * MIB, debug_line=300 * MIB, debug_str=300 * MIB),
    "lines, by what is made of them": _small_units,
    "the table of sections": _many_sections,
}


def make_too_large(program: Path, what: str) -> None:
    """Changes a program, which runs as before."""
    TOO_LARGE[what](_Elf(program))
