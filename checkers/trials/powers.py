"""The powers of a system. A power is something that a suite may use: a kind of fault, a setting, or
a view of the state of replicas.

Some powers are broker settings that weaken the cluster. On a cluster with such a setting, trials
check only the claims that need this setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from checkers.systems.apache_kafka.cluster import Cluster
from checkers.systems.system import Ability, Settings, System
from checkers.trials.inside import inside_of
from properties.suites.machines.driven import Power

NEEDED: Final[Mapping[Power, frozenset[Ability]]] = {
    Power.KILL: frozenset({Ability.KILL, Ability.START}),
    Power.PAUSE: frozenset({Ability.PAUSE, Ability.RESUME}),
    Power.ADMINISTER: frozenset({Ability.REASSIGN, Ability.ELECT, Ability.CONFIGURE}),
    Power.WIPE: frozenset({Ability.KILL, Ability.START, Ability.WIPE}),
    Power.LOSE_POWER: frozenset({Ability.KILL, Ability.START, Ability.LOSE_POWER}),
}
WEAKENING: Final[Mapping[Power, Settings]] = {  # the settings of brokers that give a power
    Power.UNVERIFIED: {"transaction.partition.verification.enable": "false"},
    Power.ONE_REPLICA: {
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "offsets.topic.replication.factor": "1",
    },
    Power.EXPIRE: {"offsets.retention.minutes": "1"},
}
WEAKENED: Final = frozenset(WEAKENING)
# (system, suite, beginning of a setting) -> why no trial is possible
IMPOSSIBLE: Final = {
    ("librdkafka-mock", "groups", "KIP-848"): (
        "a heartbeat that changes nothing fails an assertion of the mock of librdkafka 2.16.0,"
        " which ends the process (validate_subscription)"
    )
}
RETENTION_CHECK: Final = "log.retention.check.interval.ms"
OFTEN_MS: Final = 1_000


def powers_of(system: System) -> frozenset[Power]:
    found = {power for power, abilities in NEEDED.items() if abilities <= system.abilities}
    # the nodes of `served` talk in one process, where no proxy is between them
    if system.proxies is not None and Ability.PAUSE in system.abilities:
        found |= {Power.CUT, Power.DELAY}
    if inside_of(system, "") is not None:
        found.add(Power.INSIDE)
    if isinstance(system, Cluster):
        settings = system.layout.settings
        found |= {power for power, weak in WEAKENING.items() if weak.items() <= settings.items()}
        if int(settings.get(RETENTION_CHECK, OFTEN_MS + 1)) <= OFTEN_MS:
            found.add(Power.RETAIN)
    return frozenset(found)


def impossible(system: str, suite: str, setting: str) -> str:
    """Returns the reason for which a system can run no trial (test run) of a suite in a setting.
    Returns an empty text if it can run trials.

    A setting is a configuration of the cluster, such as acks=1.
    """
    for (name, of, begins), why in IMPOSSIBLE.items():
        if (name, of) == (system, suite) and setting.startswith(begins):
            return why
    return ""


def how_to_get(power: Power) -> str:
    """Returns the command-line options that give a system the power, such as `--proxied`. Returns
    an empty text if no option gives the power.
    """
    if settings := WEAKENING.get(power):
        return " ".join(f"--broker-config {name}={value}" for name, value in settings.items())
    return "--proxied" if power in {Power.CUT, Power.DELAY} else ""
