"""The parts of the product to mutate, called rooms, and the tests that must notice a mutant.

The tests of a room run in a fixed order. The test file that is named like the mutated module is
first, if there is one. The order of the others depends on the room:

    part of the broker   its own tests; then others, such as the simulation and the property suites
    spec                 a search of its states at the default bounds; then its own tests
    kernels              their own tests; then tests that they agree with the literal definitions

The search compares the verdicts, the number of states and the distances to witnesses with recorded
ones. A witness is a condition that is true in some reachable state. A kernel is a function that the
history analysis runs on each batch of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.mutants.trying import ROOT, Selection

_SIMULATION: Final = "tests/reference_impl/simulation"
_SUITES: Final = "tests/properties/suites"
_BROKER_ROOMS: Final = {
    "transactions": (
        "tests/reference_impl/log/test_verification.py",
        f"{_SIMULATION}/test_transactional_producer.py",
        f"{_SUITES}/test_transactions_suite.py",
    ),
    "partition": (
        "tests/reference_impl/log/test_verification.py",
        "tests/reference_impl/log/test_open_transactions.py",
        "tests/reference_impl/log/test_retention.py",
        "tests/reference_impl/log/test_compaction.py",
        "tests/reference_impl/log/test_producer_snapshots.py",
        "tests/reference_impl/broker",
        f"{_SIMULATION}/test_cluster.py",
        f"{_SUITES}/test_bugs_are_anomalies.py",
    ),
    "log": ("tests/reference_impl/partition", "tests/reference_impl/broker"),
    "groups": (
        "tests/reference_impl/broker",
        f"{_SIMULATION}/test_classic_member.py",
        f"{_SIMULATION}/test_consumer_member.py",
        f"{_SUITES}/test_groups_suite.py",
    ),
    "controller": ("tests/reference_impl/broker", f"{_SIMULATION}/test_cluster.py"),
    "broker": (
        "tests/reference_impl/groups",
        "tests/reference_impl/transactions",
        "tests/reference_impl/partition",
        "tests/reference_impl/log/test_retention.py",
        f"{_SIMULATION}/test_cluster.py",
    ),
    "disk": (
        "tests/reference_impl/log/test_producer_snapshots.py",
        f"{_SIMULATION}/test_faults.py",
        "tests/reference_impl/wire/serving/test_data_dir.py",
    ),
    "node": (f"{_SIMULATION}/test_runs.py", "tests/reference_impl/transactions"),
    "protocol": ("tests/reference_impl/transactions", "tests/reference_impl/groups"),
}
_SPECS: Final = (
    "replication",
    "election",
    "idempotence",
    "transactions",
    "group-offsets",
    "classic-group",
    "consumer-group",
    "share-group",
    "retention",
    "quorum",
    "reassignment",
    "quorum-abstract",
    "read-committed-abstract",
    "consumer-group-abstract",
    "classic-group-abstract",
    "coordinator-abstract",
    "reassignment-abstract",
    "pipeline-abstract",
)
_OF_SPECS: Final = (
    "actions.py",
    "state.py",
    "versions.py",
    "fences.py",
)  # a bug is a mutant itself
_MAPPINGS: Final = (
    "broker_idempotence.py",
    "broker_replication.py",
    "broker_transactions.py",
    "committed_log.py",
    "detailed_classic_group.py",
    "detailed_consumer_group.py",
    "detailed_coordinator.py",
    "detailed_group_offsets.py",
    "detailed_quorum.py",
    "detailed_read_committed.py",
    "detailed_reassignment.py",
    "detailed_transactions.py",
    "state_mapping.py",
    "transaction_numbers.py",
)
_KERNELS: Final = (
    "anomalies/cycles",
    "anomalies/delivery",
    "anomalies/groups",
    "anomalies/log",
    "anomalies/order",
    "anomalies/real_time",
    "anomalies/transactions",
    "facts",
)
_AGREEMENT: Final = (
    Selection("tests/checkers/histories/test_ties.py"),
    Selection("tests/checkers/histories/test_mutated_histories.py"),
    Selection("tests/checkers/histories/test_joined_histories.py"),
    Selection("tests/checkers/histories/test_as_jepsen.py"),
    Selection("tests/checkers/histories/test_kernels.py", "agree"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A group of source files to mutate, and the tests that must notice each mutant."""

    name: str
    folder: str
    tests: tuple[Selection, ...]
    only: tuple[str, ...] = ()  # names of files; all of the folder if empty

    def files(self, root: Path) -> Iterator[Path]:
        """Yields the source files to mutate, sorted by path."""
        for file in sorted((root / self.folder).rglob("*.py")):
            if file.name != "__init__.py" and (not self.only or file.name in self.only):
                yield file

    def stages(self, file: str) -> Iterator[tuple[Selection, ...]]:
        """Yields the tests for a mutant of a file; for `log.py`, first those in `test_log.py`."""
        own = Selection(f"{self.tests[0].path}/test_{Path(file).stem}.py")
        if (ROOT / own.path).exists():
            yield (own,)
        yield self.tests


def _broker_room(name: str, beyond: tuple[str, ...]) -> Room:
    tests = (f"tests/reference_impl/{name}", *beyond)
    folder = f"reference_impl/{name}"
    return Room(name=folder, folder=folder, tests=tuple(Selection(path) for path in tests))


def _spec_room(spec: str) -> Room:
    folder = spec.replace("-", "_")
    return Room(
        name=f"model/{spec}",
        folder=f"model/{folder}",
        only=_OF_SPECS,
        tests=(
            Selection("tests/model/test_default_bounds.py", f"[{spec}]"),
            Selection(f"tests/model/{folder}"),
        ),
    )


def _kernel_room(name: str) -> Room:
    folder = f"checkers/histories/{name}"
    return Room(
        name=name.replace("anomalies", "kernels"),
        folder=folder,
        tests=(Selection(f"tests/{folder}"), *_AGREEMENT),
    )


ROOMS: Final = (
    *(_broker_room(name, beyond) for name, beyond in _BROKER_ROOMS.items()),
    *(_spec_room(spec) for spec in _SPECS),
    *(_kernel_room(name) for name in _KERNELS),
    Room(
        name="literal definitions",
        folder="properties/anomalies",
        tests=(
            Selection("tests/properties/anomalies"),
            Selection("tests/properties/test_linearizability.py"),
            *_AGREEMENT,
        ),
    ),
    Room(
        name="refinement mappings",
        folder="properties/refinement",
        only=_MAPPINGS,
        tests=(Selection("tests/properties/refinement"),),
    ),
)
BY_NAME: Final = {room.name: room for room in ROOMS}
