"""Words that iowhy does not use: each text of the product says it in the field's own."""

import re

from tests.words.texts import Text, all_texts

#: What is not said, and what is said instead. A word that is right in another sense has a pattern that leaves that out.
NOT_SAID = {
    r"in the place of": "instead of",
    r"tells?|told|telling": "says, reports, shows, recommends; distinguishes",
    r"lies|lie|lay|lain": "is, are",
    r"stands?(?! (?:alone|still|in for)|-in)|stood": "is, are; means, represents",
    r"besides?(?=[\s,.;:)])": "next to, compared with; also",
    r"by (?:itself|themselves)|of (?:its|their) own(?! \w)": "alone, by default; its own …",
    r"where (?:nobody|no one|none|there (?:is|are)|(?:it|that|they) (?:is|are|has|have) (?:not|none|no|known|missing))": "if, when",
    r"is none of|(?<!there\s)(?<!that\s)is no (?!longer|more|less|such|better|worse)(?=[a-z])": "is not a",
    r"meanwhile|goes with|go with|whoever's|be it": "cut, or another sentence",
    r"to gain|less sure|can be gained": "could save",
    r"anew|sweeps?|sums? up|visits?|for ever|ever(?:y|any)body's": "again, passes, aggregates, forever",
}  # fmt: skip
_PATTERN = re.compile(
    "|".join(rf"\b(?:{words})\b".replace(" ", r"\s+") for words in NOT_SAID), re.I
)


def found(text: Text) -> list[str]:
    return [f"{text.place(one.start())}: {one[0]}" for one in _PATTERN.finditer(text.text)]


def test_no_text_has_a_word_that_is_not_said() -> None:
    said = [line for text in all_texts() for line in found(text)]
    assert said == [], "\n".join(said)
