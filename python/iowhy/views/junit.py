"""What became of expectations as JUnit XML, which GitLab, Jenkins, Azure and others read.

The elements are those that these agree on (`testsuites`, `testsuite`, `testcase`, `failure`, `error`), as in
https://github.com/testmoapp/junitxml.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iowhy.messages import printable
from iowhy.written_files import SHARED_FILE, opened

if TYPE_CHECKING:  # slow to import
    from iowhy.expect import Outcome


def save(
    path: Path, name: str, outcomes: "Sequence[Outcome]", elapsed_s: float | None = None
) -> None:
    """Writes a new file: a test case for each expectation. Raises Problem where it cannot."""
    from xml.etree import ElementTree  # slow to import

    broken = sum(one.held is False for one in outcomes)
    unknown = sum(one.held is None for one in outcomes)
    numbers = {
        "name": printable(name),
        "tests": str(len(outcomes)),
        "failures": str(broken),
        "errors": str(unknown),
    }
    if elapsed_s is not None:
        numbers["time"] = f"{elapsed_s:.6f}"
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", numbers)
    for one in outcomes:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {"classname": printable(name), "name": printable(one.expectation.text)},
        )
        if not one.held:
            kind = "failure" if one.held is False else "error"
            text = printable(one.sentence)
            what = {"message": text, "type": "broken" if one.held is False else "unknown"}
            ElementTree.SubElement(case, kind, what).text = text
    with opened(path, binary=True, force=False, mode=SHARED_FILE) as file:
        ElementTree.ElementTree(suites).write(file, "utf-8", xml_declaration=True)
