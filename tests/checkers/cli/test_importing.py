"""Imports of a command pause the garbage collector, which works again afterwards."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from importlib import import_module

import pytest

from checkers.cli.importing import importing


@pytest.fixture(autouse=True)
def unfrozen() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_the_collector_is_paused_for_the_block_alone() -> None:
    gc.unfreeze()
    sys.modules.pop("colorsys", None)
    with importing():
        with importing():  # the end of this block must not end the pause
            import_module("colorsys")
        assert not gc.isenabled()
        assert gc.get_freeze_count() == 0
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
    gc.unfreeze()
    with importing():
        import_module("colorsys")  # it was imported already
    assert gc.get_freeze_count() == 0


def test_the_collector_works_again_after_a_failed_import() -> None:
    with pytest.raises(ModuleNotFoundError), importing():
        import_module("checkers.no_such_module")
    assert gc.isenabled()
