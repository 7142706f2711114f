"""A table that shows in which scopes each version of a follower's truncation loses committed
records.

A scope is a number of replicas and of leader epochs. Each log has at most two records. If the claim
`strong_isr` breaks in a scope, the result is the number of steps of a shortest counterexample. If
the claim holds, the result is the number of distinct states. The versions `kip-320` and
`fetch-divergence` lose no record in any scope of the table. Tests explore every scope of the table
with every version.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """The result of exploring one version in one scope: the number of steps of a counterexample, or
    the number of distinct states if there is no counterexample.
    """

    version: str
    replicas: int
    leader_epochs: int
    fails_in: int | None = None  # steps
    holds_in: int | None = None  # distinct states

    @property
    def row(self) -> tuple[str, str]:
        return "replication", self.version

    @property
    def constants(self) -> dict[str, int]:
        """The constants of the spec for this scope. Leader epochs begin at 0, so the constant
        `max_leader_epoch` is one less than the number of epochs.
        """
        return {"replicas": self.replicas, "max_leader_epoch": self.leader_epochs - 1}

    def __str__(self) -> str:
        found = f"fails in {self.fails_in} steps"
        if self.holds_in is not None:
            found = f"holds in all {self.holds_in:,} states"
        return f"{found} with {self.replicas} replicas and {self.leader_epochs} leader epochs"


def _rungs(replicas: int, leader_epochs: int, found: dict[str, tuple[str, int]]) -> list[Rung]:
    return [
        Rung(
            version=version,
            replicas=replicas,
            leader_epochs=leader_epochs,
            fails_in=number if verdict == "fails in" else None,
            holds_in=number if verdict == "holds in" else None,
        )
        for version, (verdict, number) in found.items()
    ]


LADDER: tuple[Rung, ...] = (
    *_rungs(2, 2, {
        "truncate-to-hw": ("fails in", 9),
        "kip-101": ("holds in", 1_175),
        "kip-279": ("holds in", 1_175),
        "kip-320-first-try": ("holds in", 1_163),
        "kip-320": ("holds in", 955),
        "fetch-divergence": ("holds in", 1_067),
    }),
    *_rungs(2, 3, {
        "truncate-to-hw": ("fails in", 9),
        "kip-101": ("fails in", 11),
        "kip-279": ("holds in", 8_933),
        "kip-320-first-try": ("holds in", 8_335),
        "kip-320": ("holds in", 5_881),
        "fetch-divergence": ("holds in", 6_995),
    }),
    *_rungs(3, 2, {
        "truncate-to-hw": ("fails in", 8),
        "kip-101": ("fails in", 11),
        "kip-279": ("fails in", 11),
        "kip-320-first-try": ("holds in", 59_092),
        "kip-320": ("holds in", 39_619),
        "fetch-divergence": ("holds in", 47_203),
    }),
    *_rungs(3, 3, {
        "truncate-to-hw": ("fails in", 8),
        "kip-101": ("fails in", 10),
        "kip-279": ("fails in", 10),
        "kip-320-first-try": ("fails in", 12),
        "kip-320": ("holds in", 736_906),
        "fetch-divergence": ("holds in", 973_090),
    }),
)  # fmt: skip
