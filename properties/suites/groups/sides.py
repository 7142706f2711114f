"""The expected verdicts of the suite `groups`.

An expected verdict states that a claim holds in a setting, or that some run in the setting breaks
the claim. The module `suite` explains the details.
"""

from __future__ import annotations

from typing import Final

from properties.suites.groups.rules import GroupsMachine
from properties.suites.groups.settings import SETTINGS
from properties.suites.suite import Suite, inside, outside
from reference_impl.node.bugs import Bug

_CLAIMS: Final = ("one_owner", "idle_members", "position_resumes")

SUITE: Final = Suite(
    name="groups",
    summary="members of both protocols join, leave, die and pause while coordinators crash",
    machine=GroupsMachine,
    inside=(
        *(inside(claim, "classic", SETTINGS["classic"].condition) for claim in _CLAIMS),
        *(inside(claim, "KIP-848", SETTINGS["KIP-848"].condition) for claim in _CLAIMS),
    ),
    outside=(
        outside("one_owner", "by hand", "no coordinator assigns the partitions"),
        outside("idle_members", "by hand", "every consumer owns every partition"),
        outside(
            "one_owner",
            "KIP-848",
            "the coordinator forgets the owner of a partition that was revoked and returned",
            Bug.PARTITION_EPOCH_ERASED,
        ),
        outside("position_resumes", "KIP-848, soon forgotten", "the group was empty for too long"),
    ),
    share_of_runs=0.5,
)
