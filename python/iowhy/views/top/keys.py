"""The keys of the live view: what each does, in words and by the name of its action."""

from textual.binding import Binding, BindingType

#: Keys, and what they do, as the page of keys shows them.
KEYS = (
    ("1 to 6, tab", "another table"),
    ("up, down, page up, page down", "another row"),
    ("enter, escape", "open a process, thread, file, device, service or finding; back"),
    ("s, S, r", "sort by the next column, by the one before, the other way around"),
    ("/", "show only rows that hold a text; escape shows all"),
    ("+, -", "a longer, a shorter stretch of time"),
    ("left, right", "back in time, and forward again"),
    ("end, l", "to the end of the recording, as it grows"),
    ("space, p", "pause"),
    ("q", "leave; of -p and -a the recording ends, a command runs on"),
    ("d", "leave, and what is recorded goes on"),
    ("x", "end the recording, where this view began it"),
    ("?", "this"),
)

BINDINGS: list[BindingType] = [
    *(Binding(str(number), f"page({number - 1})", show=False) for number in range(1, 8)),
    Binding("tab", "next_page(1)", show=False, priority=True),
    Binding("shift+tab", "next_page(-1)", show=False, priority=True),
    Binding("escape", "out", show=False),
    Binding("backspace", "out", show=False),
    Binding("s", "sort(1)", show=False),
    Binding("S", "sort(-1)", show=False),
    Binding("r", "turn", show=False),
    Binding("slash", "filter", show=False),
    Binding("plus,equals_sign", "span(1)", show=False),
    Binding("minus", "span(-1)", show=False),
    Binding("left", "shift(-1)", show=False),
    Binding("right", "shift(1)", show=False),
    Binding("end,l", "live", show=False),
    Binding("space,p", "pause", show=False),
    Binding("question_mark,h", "keys", show=False),
    Binding("q,ctrl+q,ctrl+c", "quit", show=False, priority=True),
    Binding("d", "detach", show=False),
    Binding("x", "end_recording", show=False),
]
