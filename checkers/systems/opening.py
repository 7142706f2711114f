"""Opens the system that the option `--on` names, and closes it when the `with` block ends.

    with opened(named("apache-kafka:4.3.0"), folder) as system:
        system.do(Ability.KILL, 2)

Each line below has a value of the option `--on`, and the system that it names:

    served                    the reference broker, in memory, inside this process
    apache-kafka              Apache Kafka of the default version: four processes on this machine
    apache-kafka:3.9.1        Apache Kafka of another version, from 3.5.0 on
    kfake, librdkafka-mock    other implementations, made for tests of clients
    HOST:PORT,HOST:PORT       a cluster that somebody else runs
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checkers.systems.remote import Remote
from checkers.systems.system import Layout, System
from model.faults import InputFault, nearest

SERVED: Final = "served"
APACHE_KAFKA: Final = "apache-kafka"
PEERS: Final = ("kfake", "librdkafka-mock")
FORMS: Final = f"{SERVED}, {APACHE_KAFKA}:VERSION, {', '.join(PEERS)} or HOST:PORT"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedSystem:
    name: str = SERVED


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSystem:
    """A cluster of Apache Kafka that is not started yet. If `home` is None, Maven downloads the
    version `version`. Otherwise `home` is the folder of an unpacked release.
    """

    version: str
    home: Path | None = None

    @property
    def name(self) -> str:
        return f"{APACHE_KAFKA}:{self.version}" if self.home is None else str(self.home)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerSystem:
    """A cluster of another implementation of Kafka's protocol, such as kfake. It is not started
    yet.
    """

    name: str


DEFAULT: Final = Layout()
CLUSTER: Final = "cluster"  # the folder of the system's files, below the folder of a run
SystemName = ServedSystem | KafkaSystem | PeerSystem | Remote


def named(text: str, kafka_home: Path | None = None) -> SystemName:
    """Returns the system that `text`, the value of the option `--on`, names. `kafka_home` is the
    folder of an unpacked release of Apache Kafka, or None. Raises InputFault if there is no such
    system, or if `kafka_home` is combined with any other text than `apache-kafka`.
    """
    kind, _, version = text.partition(":")
    if kafka_home is not None and text != APACHE_KAFKA:
        raise InputFault(f"--kafka-home: use it with --on {APACHE_KAFKA}, without a version")
    if kind == APACHE_KAFKA:
        from checkers.systems.apache_kafka import jars

        chosen = jars.checked(version) if version else jars.DEFAULT_VERSION
        return KafkaSystem(version=chosen, home=kafka_home)
    if text == SERVED:
        return ServedSystem()
    if text in PEERS:
        return PeerSystem(name=text)
    if ":" not in text:
        near = nearest(text, (SERVED, APACHE_KAFKA, *PEERS))
        raise InputFault(f"--on {text}: a system is {FORMS}; the nearest names: {near}")
    return Remote(text)


@contextmanager
def opened(name: SystemName, folder: Path, layout: Layout = DEFAULT) -> Generator[System]:
    """Starts a system and yields it. A cluster that already runs is not started.

    Apache Kafka writes its files to `folder`, which must not exist yet. A running cluster has its
    own settings, so `layout` has no effect on it. Raises InputFault if the system cannot be
    downloaded, and SystemFailed if it does not start.
    """
    match name:
        case ServedSystem():
            from checkers.systems import served

            with served.running(layout) as system:
                yield system
        case KafkaSystem(version=version, home=home):
            from checkers.systems.apache_kafka import cluster, jars

            found = jars.download(version) if home is None else jars.installed(home)
            with cluster.running(folder, found, layout) as system:
                yield system
        case PeerSystem(name=peer):
            from checkers.systems import peers

            with peers.PEERS[peer](layout) as system:
                yield system
        case Remote():
            yield name
