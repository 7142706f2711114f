"""Repeats the proof of each version of a spec with ten seeds of Z3. cvc5 checks the first proof.

A seed changes how Z3 searches, but not the statements that are proved. If a proof succeeds on ten
seeds, its success does not depend on luck.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from checkers.symbolic import prove
from checkers.symbolic.agreement import agreement
from checkers.symbolic.smtlib import scripts
from model.specs import SPECS, variants_of
from model.variants import Variant
from tools.proofs.record import Proved, Row, Second

SEEDS: Final = range(10)
UNPROVED: Final = {("replication-abstract", "with-losses")}  # a version that is only explored


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    version: Variant
    seed: int

    @property
    def key(self) -> Proved:
        return Proved(spec=self.version.spec, version=self.version.name, seed=self.seed)


def proved_versions() -> Iterator[Variant]:
    """Yields the versions of abstract specs whose claims are all proved."""
    for spec in SPECS:
        if spec.endswith("-abstract"):
            for row in variants_of(spec):
                is_proved = (spec, row.name) not in UNPROVED and row.breaks is None
                if row.kind == "version" and is_proved:
                    yield row


def tasks() -> Iterator[Task]:
    """Yields a task for each proved version and each seed. All tasks with the first seed come
    first.
    """
    for seed in SEEDS:
        for version in proved_versions():
            yield Task(version=version, seed=seed)


def conduct(task: Task) -> Row:
    """Proves a version with one seed, and returns the result. For the first seed, cvc5 checks the
    proof.

    Raises EnginesDisagree if the two solvers decide a condition differently.
    """
    spec = task.version.make()
    started = time.process_time()
    proof = prove(spec, seed=task.seed)
    cpu_s = time.process_time() - started
    second = None
    if task.seed == SEEDS[0]:
        conditions = list(scripts(spec, proof))
        started = time.process_time()
        found = agreement(conditions)
        second = Second(
            agreed=found.agreed,
            conditions=found.conditions,
            unknown=[one.script.name for one in found.unknown],
            cpu_s=round(time.process_time() - started, 1),
        )
    return Row(
        proved=task.key,
        conditions=len(proof.conditions),
        by_frame=proof.by_frame,
        by_consequence=proof.by_consequence,
        open=[str(c) for c in proof.failed],
        reason=proof.reason,
        cpu_s=round(cpu_s, 1),
        load=round(os.getloadavg()[0], 1),
        second=second,
    )
