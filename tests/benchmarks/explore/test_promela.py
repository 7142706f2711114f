"""SPIN, another model checker, finds as many states and transitions in a spec as our explorer."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.explore.promela import promela
from checkers.explicit.instance import Instance
from checkers.explicit.search import explore
from model.language import Spec
from model.language.expressions import SpecError
from model.replication.actions import TruncateToHighWatermark
from model.replication.versions import Kip101, Kip320
from tests.checkers.explicit.test_search import Ballot

SPIN = pytest.mark.skipif(
    not (shutil.which("spin") and shutil.which("cc")), reason="needs spin and cc: apt install spin"
)
FLAGS = ("-O1", "-DSAFETY", "-DNOREDUCE", "-w")  # every interleaving, and no warnings


@SPIN
@pytest.mark.parametrize(
    "spec",
    [
        Ballot(),
        Kip320(replicas=2, max_leader_epoch=2),
        Kip101(replicas=2, max_leader_epoch=1),
        TruncateToHighWatermark(replicas=2, max_leader_epoch=1),
    ],
    ids=lambda spec: type(spec).__name__,
)
def test_spin_counts_the_same_states_and_transitions(spec: Spec, tmp_path: Path) -> None:
    found = explore(spec, engine="python")
    output = spin(promela(Instance.of(spec)), tmp_path)
    assert number(r"(\d+) states, stored", output) == found.distinct
    # which SPIN counts as stored and matched states, the initial one among them
    assert number(r"(\d+) transitions", output) == found.generated


@SPIN
@pytest.mark.parametrize("version", [Kip320, TruncateToHighWatermark])
def test_spin_checks_claims_without_storing_more_states(
    version: type[Kip320 | TruncateToHighWatermark], tmp_path: Path
) -> None:
    spec = version(replicas=2, max_leader_epoch=2)
    found = explore(spec, properties=("weak_isr",), engine="python")
    (claim,) = [claim for claim in spec.claims if claim.name == "weak_isr"]
    output = spin(promela(Instance.of(spec), [claim]), tmp_path)
    assert number(r"errors: (\d+)", output) == len(found.violated)
    assert bool(found.violated) == (version is TruncateToHighWatermark)
    if not found.violated:
        assert number(r"(\d+) states, stored", output) == found.distinct
        assert number(r"(\d+) transitions", output) == found.generated


def test_a_claim_about_steps_is_refused() -> None:
    spec = Kip320(replicas=2)
    with pytest.raises(SpecError, match="leader_epochs_grow is about steps"):
        promela(Instance.of(spec), spec.action_properties)


def spin(model: str, folder: Path) -> str:
    (folder / "model.pml").write_text(model)
    for words in (
        ["spin", "-a", "model.pml"],
        ["cc", *FLAGS, "-o", "pan", "pan.c"],
    ):
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
    done = subprocess.run(
        ["./pan", "-E", "-m100000"], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


def number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    assert found, text
    return int(found[1])


def test_a_cell_takes_the_bits_it_needs_and_an_action_reads_the_state_before() -> None:
    text = promela(Instance.of(Ballot()))
    assert "unsigned rounds : 2 = 0;" in text
    assert "unsigned votes_1 : 1 = 0;" in text
    (close,) = [line for line in text.splitlines() if "rounds + 1" in line]
    assert close.index("new0 = ") < close.index("votes_0 = new0")
