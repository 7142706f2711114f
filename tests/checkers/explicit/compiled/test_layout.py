"""A stored state uses as few bits as its values need, and is loaded unchanged."""

from __future__ import annotations

from hypothesis import given

from checkers.explicit.compiled.layout import WORD, Layout
from checkers.explicit.instance import Instance
from model.language.interpreter import State
from model.replication.versions import Kip320
from tests.checkers.explicit.random_programs import SMALL, states

LAYOUT = Layout(Instance.of(SMALL))


@given(state=states())
def test_a_stored_state_is_loaded_unchanged(state: State) -> None:
    packed = LAYOUT.at.pack(state)
    stored = LAYOUT.stored(packed)
    assert len(stored) == LAYOUT.state_bytes
    assert LAYOUT.loaded(stored) == packed


def test_no_cell_straddles_words_and_none_shares_bits() -> None:
    layout = Layout(Instance.of(Kip320()))
    taken = [(word, bit) for word, at, width in layout.places for bit in range(at, at + width)]
    assert len(taken) == len(set(taken)) == 99
    assert max(bit for _, bit in taken) < WORD
    assert layout.state_bytes == 13  # 104 bits


def test_a_cell_with_one_value_takes_no_bits() -> None:
    layout = Layout(Instance.of(Kip320(replicas=1, max_records=1)))
    widths = {cell: width for (cell, _), (_, _, width) in zip(
        layout.at.cells, layout.places, strict=True
    )}  # fmt: skip
    assert widths["registration.leader", ()] == 1
    assert all(width <= 2 for width in widths.values())
