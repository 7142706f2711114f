"""Equal texts have equal fingerprints, and different texts have different fingerprints."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from checkers.histories.columnar.fingerprints import NULL, fingerprints

TEXTS = st.lists(st.none() | st.text(max_size=40), max_size=30)
_ALL = 2**64 - 1


def slow_fingerprint(text: str, hash_seed: int) -> int:
    """Returns the fingerprint of the text, computed as the module's docstring defines it."""

    def mixed(word: int) -> int:
        word = (word + 0x9E3779B97F4A7C15) & _ALL
        word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _ALL
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _ALL
        return word ^ (word >> 31)

    held = text.encode()
    made = mixed((len(held) + mixed(hash_seed)) & _ALL)
    for at in range(0, len(held), 8):
        made = mixed(made ^ int.from_bytes(held[at : at + 8], "little"))
    return made - 2**64 if made >= 2**63 else made


@given(texts=TEXTS, hash_seed=st.integers(0, 3))
def test_fingerprints_agree_with_the_slow_definition(
    texts: list[str | None], hash_seed: int
) -> None:
    made = fingerprints(pa.array(texts, pa.string()), hash_seed).tolist()
    assert made == [NULL if text is None else slow_fingerprint(text, hash_seed) for text in texts]


@given(before=TEXTS, texts=TEXTS)
def test_the_position_of_a_text_in_an_array_does_not_matter(
    before: list[str | None], texts: list[str | None]
) -> None:
    whole = pa.array([*before, *texts], pa.string())
    cut = whole.slice(len(before))
    alone = fingerprints(pa.array(texts, pa.string()))
    assert np.array_equal(fingerprints(cut), alone)


def test_a_million_texts_have_a_million_fingerprints() -> None:
    texts = pa.array([f"producer-{n % 7}:{n}" for n in range(1_000_000)])
    assert len(np.unique(fingerprints(texts))) == 1_000_000


def test_another_hash_seed_gives_other_fingerprints() -> None:
    texts = pa.array(["a", "b"])
    assert not np.intersect1d(fingerprints(texts, 0), fingerprints(texts, 1)).size


def test_a_long_text_among_many_is_hashed_at_once() -> None:
    long = "x" * 10_000_000  # eight bytes at a time, for all texts, took many minutes
    few = ["a", long, None, f"{long[:-1]}y", long[:-1], "x" * 4_096, "x" * 4_097]
    made = fingerprints(pa.array([*few, *map(str, range(30_000))]))
    alone = [fingerprints(pa.array([text], pa.string()))[0] for text in few]
    assert made[: len(few)].tolist() == alone
    assert alone[5] == slow_fingerprint("x" * 4_096, 0)
    assert len(np.unique(made)) == len(made)
    assert fingerprints(pa.array([long]), 1)[0] not in made
