"""How the classes of the time budget are drawn on a terminal: the live view does not wait for what judges."""

# One colour per class of the budget: the same kind of time has the same hue everywhere.
COLOURS = {
    "on-CPU user": "green",
    "on-CPU kernel": "bright_green",
    "runnable": "yellow",
    "waiting to read": "blue",
    "waiting to write": "magenta",
    "waiting for sync": "red",
    "throttled": "bright_red",
    "waiting for a lock": "cyan",
    "waiting for memory": "bright_magenta",
    "the recorder itself": "bright_white",
    "idle": "bright_black",
    "unexplained": "white",
}
# Also told apart without colour.
LETTERS = {
    "on-CPU user": "u",
    "on-CPU kernel": "k",
    "runnable": "q",
    "waiting to read": "r",
    "waiting to write": "w",
    "waiting for sync": "s",
    "throttled": "t",
    "waiting for a lock": "l",
    "waiting for memory": "m",
    "the recorder itself": "x",
    "idle": ".",
    "unexplained": "?",
}


def cells_of(shares: list[float], width: int) -> list[int]:
    """Whole cells that sum to `width`, by largest remainder; a share that is there gets one."""
    exact = [share * width for share in shares]
    cells = [max(1, int(value)) for value in exact]
    order = sorted(range(len(exact)), key=lambda at: int(exact[at]) - exact[at])
    at = 0
    while sum(cells) < width:
        cells[order[at % len(order)]] += 1
        at += 1
    while sum(cells) > width:
        cells[cells.index(max(cells))] -= 1
    return cells
