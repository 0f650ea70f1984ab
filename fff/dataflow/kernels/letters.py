"""Upper and lower case as Unicode 17 has them, which Spark knows and not every Python."""

from __future__ import annotations

_BLANK = " "
#: Capitals that Unicode has had since version 14, by their small letters.
_NEW_UPPER = {
    **{small: small - 0x20 for small in range(0x10D70, 0x10D86)},
    **{small: small - 0x1B for small in range(0x16EBB, 0x16ED4)},
    **{small: small - 1 for small in (0x1C8A, 0xA7CD, 0xA7CF, 0xA7D3, 0xA7D5, 0xA7DB)},
    0x19B: 0xA7DC,
    0x264: 0xA7CB,
}
_NEW_LOWER = {capital: small for small, capital in _NEW_UPPER.items()}
#: Characters that have become marks, and letters with a case: a sigma beside them is written accordingly.
_MARKS = (
    "897 ece 1acf-1add 1ae0-1aeb a7f1 10d4e 10d69-10d6d 10d6f 10ec5 10efa-10eff 11241 113bb-113c0 "
    "113ce 113d0 113d2 113e1-113e2 11b60 11b62-11b64 11b66 11dd9 11f00-11f01 11f36-11f3a 11f40 11f42 "
    "11f5a 13439-13440 13447-13455 1611e-16129 1612d-1612f 16d40-16d42 16d6b-16d6c 16ff2-16ff3 "
    "1e030-1e06d 1e08f 1e4eb-1e4ef 1e5ee-1e5ef 1e6e3 1e6e6 1e6ee-1e6ef 1e6f5 1e6ff "
)
_LETTERS = (
    "1c89-1c8a a7cb-a7cf a7d2 a7d4 a7da-a7dc 10d50-10d65 10d70-10d85 16ea0-16eb8 16ebb-16ed3 1df25-1df2a "
)


def _listed(text: str) -> list[int]:
    ends = [[int(end, 16) for end in part.split("-")] for part in text.split()]
    return [code for part in ends for code in range(part[0], part[-1] + 1)]


#: What stands for a character beside a sigma: a mark, a letter, or neither.
_BESIDE_SIGMA = {
    **dict.fromkeys(_listed(_MARKS), "\u0301"),
    **dict.fromkeys(_listed(_LETTERS), "a"),
    **dict.fromkeys((0x295, 0x1171E), _BLANK),
}


def upper(text: str) -> str:
    """The text in capitals."""
    return text.translate(_NEW_UPPER).upper()


def lower(text: str) -> str:
    """The text in small letters; a sigma at the end of a word is a final one."""
    lowered = text.translate(_NEW_LOWER).lower()
    if "\u03a3" not in text:
        return lowered
    sigmas = text.translate(_BESIDE_SIGMA).lower()
    return "".join(
        sigma if sigma in "\u03c3\u03c2" else letter for letter, sigma in zip(lowered, sigmas, strict=True)
    )


def initcap(text: str) -> str:
    """Words, which blanks alone divide, with a first letter as in titles, and small ones behind it."""
    words = [(word, word[:1]) for word in text.split(_BLANK)]
    return _BLANK.join(
        first.translate(_NEW_UPPER).title() + lower(word)[len(first.lower()) :] for word, first in words
    )
