"""Trees of small files, written in random order, as those are on which people work."""

import os
import random
import time
from pathlib import Path


def make_tree(root: Path, directories: int, files: int, size_bytes: int, seed: int) -> int:
    """Makes `files` files in each of `directories` directories below `root`; returns how many files.

    They are written in random order, so that the files of a directory, and their inodes, are apart from
    each other. Their text is made of words, which differ from file to file. All were changed an hour ago: of a file
    that is as young as its index git reads the content, as its time says nothing of it then.
    """
    chance = random.Random(seed)
    places = [root / f"d{number:04}" / "sub" for number in range(directories)]
    for place in places:
        place.mkdir(parents=True)
    names = [place / f"file{number:02}" for place in places for number in range(files)]
    chance.shuffle(names)
    changed_ns = time.time_ns() - 3600 * 10**9
    for name in names:
        name.write_text(text(chance, size_bytes))
        os.utime(name, ns=(changed_ns, changed_ns))
    return len(names)


def text(chance: random.Random, size_bytes: int) -> str:
    """Lines of words by chance, cut to a size."""
    words = " ".join(f"{chance.getrandbits(24):x}" for _ in range(size_bytes // 6 + 1))
    return (
        "\n".join(words[at : at + 79] for at in range(0, len(words), 79))[: size_bytes - 1] + "\n"
    )
