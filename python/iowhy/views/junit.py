"""What became of expectations as JUnit XML, which GitLab, Jenkins, Azure and others read.

The elements are those that these agree on (`testsuites`, `testsuite`, `testcase`, `failure`, `error`), as in
https://github.com/testmoapp/junitxml.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iowhy.masking import masked
from iowhy.messages import printable
from iowhy.written_files import SHARED_FILE, opened

if TYPE_CHECKING:  # slow to import
    from iowhy.expect import Outcome


def save(
    path: Path,
    name: str,
    outcomes: "Sequence[Outcome]",
    elapsed_s: float | None = None,
    *,
    errors: Sequence[str] = (),
    say: Callable[[str], str] = masked,
) -> None:
    """Writes a new file: a test case for each expectation, and one for each of `errors`, which kept others from being judged.

    `say` is how texts are shown. Raises Problem where it cannot be written.
    """
    from xml.etree import ElementTree  # slow to import

    shown = printable(say(name))
    broken = sum(one.held is False for one in outcomes)
    unknown = sum(one.held is None for one in outcomes)
    numbers = {
        "name": shown,
        "tests": str(len(outcomes) + len(errors)),
        "failures": str(broken),
        "errors": str(unknown + len(errors)),
    }
    if elapsed_s is not None:
        numbers["time"] = f"{elapsed_s:.6f}"
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", numbers)
    for one in outcomes:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {"classname": shown, "name": printable(say(one.expectation.text))},
        )
        if not one.held:
            kind = "failure" if one.held is False else "error"
            text = printable(say(one.sentence))
            what = {"message": text, "type": "broken" if one.held is False else "unknown"}
            ElementTree.SubElement(case, kind, what).text = text
    for why in errors:
        about = {"classname": shown, "name": "judged"}
        case = ElementTree.SubElement(suite, "testcase", about)
        text = printable(say(why))
        ElementTree.SubElement(case, "error", {"message": text, "type": "unknown"}).text = text
    with opened(path, binary=True, force=False, mode=SHARED_FILE) as file:
        ElementTree.ElementTree(suites).write(file, "utf-8", xml_declaration=True)
