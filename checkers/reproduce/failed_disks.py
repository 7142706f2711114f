"""The common parts of the schedules in which the second disk of broker 1 fails.

The brokers have two disks, and broker 1 has its replica on the second disk. The first disk has the
metadata of the broker, so the broker would stop if this disk failed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from checkers.reproduce.actions import all_of, create_topic, nothing, prefer_disk
from checkers.reproduce.checks import folders, partition
from checkers.reproduce.reproduction import Step
from checkers.systems.system import Layout

LAYOUT: Final = Layout(disks=2, features={"eligible.leader.replicas.version": 1})
PROXIED: Final = replace(LAYOUT, proxied=True)
REPORTED: Final = r"Directories .* in broker 1 marked offline"  # in the controller's log


def created(leader: int, other: int) -> tuple[Step, ...]:
    """Returns the first two steps of a schedule. The first step creates a topic with replicas on
    the brokers `leader` and `other`. One of them is broker 1. The second step checks that the
    replica of broker 1 is on its second disk.
    """
    return (
        Step(
            f"broker {leader} leads, and broker {other} is in the ISR",
            all_of(
                prefer_disk(1, 2),
                create_topic(
                    leader,
                    other,
                    min_insync_replicas="2",
                    unclean_leader_election_enable="false",
                ),
            ),
            partition(leader=leader, isr=(1, 2)),
        ),
        Step("the replica of broker 1 is on its second disk", nothing, folders(1, "t-0", disk=2)),
    )
