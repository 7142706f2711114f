"""The parts of the product that are mutated, and for each part the tests that must notice a mutant.

The tests of a part run in groups, until a group kills the mutant. Each group also has the tests of
the earlier groups. The first group is the test file whose path matches the path of the mutated
module, if there is such a file. The next groups depend on the part (a kernel is a function that the
history analysis runs on rows):

    part of the broker   its own tests; then others, such as the simulation and the property suites
    spec                 a search of its states at the default bounds, and its own tests
    kernels              their own tests; then tests that they agree with the literal definitions

The search compares verdicts, the number of states and the distances to witnesses with recorded
values. A witness is a condition that is true in some reachable state. Its distance is the number of
steps to the nearest such state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from model.specs import SPECS
from tools.mutants.judges import judging_lines
from tools.mutants.mutations import Mutant, mutants_of
from tools.mutants.trying import ROOT, Selection

_SIMULATION: Final = "tests/reference_impl/simulation"
_SUITES: Final = "tests/properties/suites"
_BROKER_PARTS: Final = {
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
_TESTS_ELSEWHERE: Final = {
    "replication-abstract": "tests/checkers/explicit/test_abstract_replication.py"
}
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


def _nothing(_source: bytes) -> Set[int]:
    return frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the product, with the tests that must notice its mutants.

    `beyond` has further tests, for mutants that the part's own tests do not kill.
    """

    name: str
    folder: str
    tests: tuple[Selection, ...]
    beyond: tuple[Selection, ...] = ()
    without: tuple[str, ...] = ()  # names of files and folders that are not mutated
    judges: Callable[[bytes], Set[int]] = _nothing  # lines of a source that are not mutated

    def files(self, root: Path) -> Iterator[Path]:
        """Yields the files of the part, sorted by path. A file of which `judges` has all lines has
        no mutants.
        """
        for file in sorted((root / self.folder).rglob("*.py")):
            names = file.relative_to(root / self.folder).parts
            if file.name != "__init__.py" and not {*names} & {*self.without}:
                yield file

    def mutants(self, root: Path) -> Iterator[Mutant]:
        """Yields the mutants of the part, file by file."""
        for file in self.files(root):
            source = file.read_bytes()
            judges = self.judges(source)
            for mutant in mutants_of(file.relative_to(root).as_posix(), source):
                if mutant.line not in judges:
                    yield mutant

    def stages(self, file: str) -> Iterator[tuple[Selection, ...]]:
        """Yields the groups of tests for the mutants of a file, in their order.

        For example, the first group for `log/key.py` is `tests/log/test_key.py`, if this file
        exists. The final group has all tests of the part.
        """
        own = Path("tests", file).with_name(f"test_{Path(file).name}")
        if (ROOT / own).exists():
            yield (Selection(own.as_posix()),)
        yield self.tests
        if self.beyond:
            yield self.all_tests

    @property
    def all_tests(self) -> tuple[Selection, ...]:
        return self.tests + self.beyond


def _broker_part(name: str, beyond: tuple[str, ...]) -> Part:
    folder = f"reference_impl/{name}"
    return Part(
        name=folder,
        folder=folder,
        without=("bugs.py",),
        tests=(Selection(f"tests/{folder}"),),
        beyond=tuple(Selection(path) for path in beyond),
    )


def _spec_part(spec: str) -> Part:
    folder = f"model/{spec.replace('-', '_')}"
    own = _TESTS_ELSEWHERE.get(spec, f"tests/{folder}")
    return Part(
        name=f"model/{spec}",
        folder=folder,
        judges=judging_lines,
        tests=(
            Selection("tests/model/test_default_bounds.py", f"{spec}]"),  # and beyond them
            Selection(own),
        ),
    )


def _kernel_part(name: str) -> Part:
    folder = f"checkers/histories/{name}"
    return Part(
        name=name.replace("anomalies", "kernels"),
        folder=folder,
        tests=(Selection(f"tests/{folder}"),),
        beyond=_AGREEMENT,
    )


PARTS: Final = (
    *(_broker_part(name, beyond) for name, beyond in _BROKER_PARTS.items()),
    *(_spec_part(spec) for spec in SPECS),
    *(_kernel_part(name) for name in _KERNELS),
    Part(
        name="literal definitions",
        folder="properties/anomalies",
        tests=(
            Selection("tests/properties/anomalies"),
            Selection("tests/properties/test_linearizability.py"),
        ),
        beyond=_AGREEMENT,
    ),
    Part(
        name="refinement mappings",
        folder="properties/refinement",
        without=("explained_runs.py",),
        tests=(Selection("tests/properties/refinement"),),
    ),
)
BY_NAME: Final = {part.name: part for part in PARTS}
