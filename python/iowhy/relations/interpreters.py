"""Interpreters: by which file their code is known, and how they say which functions of a script it is."""

import re

from msgspec import Struct

from iowhy.sentences import worded


class Interpreter(Struct, frozen=True):
    """One language's. `way`: how its functions get names."""

    files: re.Pattern[str]
    language: str
    way: str

    @property
    def without_names(self) -> str:
        """What is said if they have none."""
        return worded(
            "no-names",
            "the functions of the {language} program have no names here: {way}",
            language=self.language,
            way=self.way,
        )


INTERPRETERS = tuple(
    Interpreter(re.compile(files), language, way)
    for files, language, way in (
        (r"python3(\.\d+)?|libpython3.*", "Python", "run `python3 -X perf`, CPython 3.12 or later"),
        (r"node(js)?|libnode.*", "JavaScript", "run `node --perf-basic-prof`"),
        (
            r"libjvm\.so",
            "Java",
            "run `java -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit`, JDK 17 or later (compiled functions only)",
        ),
        (r"ruby(\d.*)?|libruby.*", "Ruby", "run `ruby --yjit-perf`, Ruby 3.3 or later"),
        (r"libcoreclr\.so", ".NET", "set DOTNET_PerfMapEnabled=1, .NET 8 or later"),
        (r"perl[\d.]*|libperl\.so.*", "Perl", "perl cannot write them"),
        (r"php(-fpm|-cgi)?[\d.]*|libphp[\d.]*\.so.*", "PHP", "php cannot write them"),
    )
)
#: Whether code of a JIT has names in a recording.
NAMED_BY_A_MAP = (
    "SELECT count(*) > 0 FROM user_stacks f JOIN modules m ON m.module_id = f.module_id "
    "WHERE m.kind = 'jit' AND f.function IS NOT NULL"
)


def interpreter(module: str | None) -> Interpreter | None:
    """Whose file this is, without directories; None: no interpreter's."""
    return next((one for one in INTERPRETERS if one.files.fullmatch(module or "")), None)
