"""Prints the catalogue, to be read like a text: `make words`."""

from tests.words.catalogue import ROOMS, catalogue


def main() -> None:
    found = catalogue()
    for room, heading in ROOMS.items():
        entries = [one for one in found if one.room == room]
        if entries:
            print(f"\n{heading} ({len(entries)})\n")
            print("\n".join(f"{one.text}  [{one.id}]" for one in entries))


main()
