"""What `iowhy.own_toml` reads is what the standard library reads, of every file of ours and of what it does not know."""

import tomllib
from pathlib import Path

import pytest

import iowhy
from iowhy import own_toml

FILES = sorted(Path(iowhy.__file__).parent.rglob("*.toml"))
SHORT = {
    "keys": 'a = 1\n"b-c" = true\n[d.e]\nf = "="\n',
    "arrays": 'a = [\n  "x", # {\n  "]",\n]\n[[b]]\nc = { d = ["{ e = 1 }"], f = 1.5 }\n[[b]]\n',
    "comments": 'a = 1 # one\n# two\nb = "# three"\n',
    "numbers": "a = 1_000\nb = 0x10\nc = inf\nd = 1979-05-27\n",
    "strings": 'a = \'it\\s\'\nb = """\nx\n"""\nc = "\\u00b5 \\"q\\""\n',
    "dotted": "a.b = 1\na.c = 2\n",
    "below": "[a]\nb = 1\n[a.c]\nd = 2\n",
}
WRONG = (
    "a = 1\na = 2\n",
    "a =\n",
    "[a\n",
    "a = [\n1,\n",
    "[a]\n[a]\n",
    'a = "x\n',
    "a = tru\n",
    "a b = 1\n",
)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_our_files_say_what_the_standard_library_reads(file: Path) -> None:
    text = file.read_text("utf-8")
    assert own_toml._read(text) == tomllib.loads(text)  # and none takes the long way


@pytest.mark.parametrize("text", SHORT.values(), ids=SHORT)
def test_what_else_toml_has_is_read_too(text: str) -> None:
    assert own_toml.read(text) == tomllib.loads(text)


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_toml_is_refused_as_by_the_standard_library(text: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        own_toml.read(text)
