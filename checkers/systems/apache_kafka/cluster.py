"""Starts and controls a cluster of Apache Kafka on this machine. The cluster has one controller and
some brokers, and each of them is a process.

No fault affects the controller. Brokers have no vote in the quorum of the controller, so the
controller can elect new partition leaders after every fault. A broker has two listeners: INTERNAL
for the other nodes and CLIENT for clients.

Source: Kafka documentation, "KRaft".
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from checkers.java import choose
from checkers.systems.apache_kafka import logging, power_loss, storage
from checkers.systems.apache_kafka.addresses import CONTROLLER, Addresses
from checkers.systems.apache_kafka.jars import Jars
from checkers.systems.apache_kafka.settings import EVERY_NODE, properties, replicated
from checkers.systems.apache_kafka.watched import forget, start_watchdog, start_watched
from checkers.systems.ports import HOST
from checkers.systems.proxies.proxies import Proxies
from checkers.systems.system import Ability, Layout, Settings, SystemFailed, Unable

STARTS_WITHIN_S: Final = 120.0
STOPS_WITHIN_S: Final = 30.0
LISTENERS: Final = "CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,CLIENT:PLAINTEXT"
READY: Final = b"Kafka Server started"  # KafkaRaftServer.startup
REQUESTS: Final = frozenset(
    {Ability.ELECT, Ability.REASSIGN, Ability.CONFIGURE, Ability.DELETE_RECORDS}
)
JAVA_OPTIONS: Final = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass(slots=True)
class Cluster:
    folder: Path
    jars: Jars
    layout: Layout
    addresses: Addresses
    proxies: Proxies | None  # None: the layout is not proxied
    _watchdog: subprocess.Popen[bytes]
    _running: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    _lost: dict[int, list[power_loss.Lost]] = field(default_factory=dict)
    _log_begins: dict[int, int] = field(default_factory=dict)  # of the present life, in bytes
    _without_last_disk: set[int] = field(default_factory=set[int])

    @property
    def name(self) -> str:
        return f"apache-kafka:{self.jars.version}"

    @property
    def abilities(self) -> frozenset[Ability]:
        lacking = frozenset[Ability]() if self.jars.logs_flushes else {Ability.LOSE_POWER}
        return (frozenset(_ACTIONS) | REQUESTS) - lacking

    @property
    def brokers(self) -> tuple[int, ...]:
        return tuple(range(1, self.layout.brokers + 1))

    @property
    def nodes(self) -> tuple[int, ...]:
        return (CONTROLLER, *self.brokers)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{HOST}:{self.address(broker)[1]}" for broker in self.brokers)

    def address(self, broker: int) -> tuple[str, int]:
        return HOST, self.addresses.ports[broker].advertised

    def log_dir(self, broker: int) -> Path:
        return self._home(broker) / "logs"

    def log_dirs(self, broker: int) -> tuple[Path, ...]:
        """Returns the broker's log directories. Each directory stands for one disk."""
        first = self.log_dir(broker)
        disks = 1 if broker == CONTROLLER else self.layout.disks
        count = disks - (broker in self._without_last_disk)
        return (first, *(first.with_name(f"{first.name}-{n}") for n in range(2, count + 1)))

    def log(self, broker: int) -> Path:
        return self._home(broker) / "server.log"

    def trace(self, node: int) -> Path:
        return self._home(node) / "trace.log"

    def lost(self, broker: int) -> tuple[power_loss.Lost, ...]:
        """Returns the ranges of offsets that the power losses of this broker have
        removed so far.
        """
        return tuple(self._lost.get(broker, ()))

    def do(self, action: Ability, broker: int) -> None:
        if action not in self.abilities - REQUESTS:
            raise Unable(self, action)
        _ACTIONS[action](self, broker)

    def format(self) -> None:
        text = logging.configuration(traced=self.layout.traced)
        (self.folder / "log4j2.properties").write_text(text, encoding="utf-8")
        for node in self.nodes:
            self._home(node).mkdir(parents=True)
            self._hosts(node).write_text(self.addresses.hosts_file(node), encoding="utf-8")
            self._properties(node).write_text(properties(self._settings(node)), encoding="utf-8")
        storage.format_first(
            self._java(CONTROLLER), self._properties(CONTROLLER), self.layout.features
        )
        others = ((broker, self.log_dir(broker)) for broker in self.brokers)
        storage.copy_to(self.log_dir(CONTROLLER), others)
        for broker in self.brokers:
            for folder in self.log_dirs(broker)[1:]:
                storage.add_disk(self.log_dir(broker), folder)

    def start(self, broker: int) -> None:
        with self.log(broker).open("ab") as log:
            self._log_begins[broker] = log.tell()
            command = [*self._java(broker), "kafka.Kafka", str(self._properties(broker))]
            self._running[broker] = start_watched(self._watchdog, command, log)

    def await_brokers(self, *brokers: int) -> None:
        until = time.monotonic() + STARTS_WITHIN_S
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
        while True:
            for node, process in self._running.items():
                if process.poll() is not None:
                    raise SystemFailed(f"node {node} died; see {self.log(node)}")
            if all(map(self._has_started, brokers)) and set(brokers) <= _registered(admin):
                return
            if time.monotonic() > until:
                raise SystemFailed(
                    f"brokers {brokers} are not ready after {STARTS_WITHIN_S:.0f} s;"
                    f" see the logs in {self.folder}"
                )
            time.sleep(0.2)

    def _has_started(self, broker: int) -> bool:
        # Metadata is not enough: brokers list a killed broker until its session ends.
        with self.log(broker).open("rb") as log:
            log.seek(self._log_begins[broker])
            return READY in log.read()

    def kill(self, broker: int) -> None:
        process = self._running.pop(broker)
        process.kill()
        self._ended(process)

    def pid(self, node: int) -> int:
        return self._running[node].pid

    def pause(self, broker: int) -> None:
        self._running[broker].send_signal(signal.SIGSTOP)

    def resume(self, broker: int) -> None:
        self._running[broker].send_signal(signal.SIGCONT)

    def stop(self, broker: int) -> None:
        process = self._running.pop(broker)
        process.terminate()
        try:
            process.wait(STOPS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise SystemFailed(
                f"node {broker} did not stop within {STOPS_WITHIN_S:.0f} s; see {self.log(broker)}"
            ) from None
        finally:
            self._ended(process)

    def wipe(self, broker: int) -> None:
        assert broker not in self._running, f"broker {broker} is running"
        storage.wipe(self.log_dir(broker))

    def lose_power(self, broker: int) -> None:
        if broker in self._running:
            self.kill(broker)
        disks = (disk for disk in self.log_dirs(broker) if disk.exists())
        flushes = self._flushes(broker)
        lost = [one for disk in disks for one in power_loss.lose_unflushed(disk, flushes)]
        self._lost.setdefault(broker, []).extend(lost)
        with (self._home(broker) / "lost.txt").open("a", encoding="utf-8") as file:
            file.writelines(f"{one}\n" for one in lost)

    def lose_disk(self, broker: int, *, listed: bool) -> None:
        """Deletes the last log directory of a broker. The broker must be down.

        If `listed` is True, an empty, formatted directory replaces the deleted one. If `listed` is
        False, the directory is also removed from the broker's configuration `log.dirs`.
        """
        assert broker not in self._running, f"broker {broker} is running"
        disks = self.log_dirs(broker)
        assert len(disks) > 1, f"broker {broker} has one disk"
        if disks[-1].exists():  # not if it failed before
            shutil.rmtree(disks[-1])
        if listed:
            storage.add_disk(disks[0], disks[-1])
        else:
            self._without_last_disk.add(broker)
            self._properties(broker).write_text(
                properties(self._settings(broker)), encoding="utf-8"
            )

    def close(self) -> None:
        for process in self._running.values():
            process.kill()
        for node in tuple(self._running):
            self._ended(self._running.pop(node))
        assert self._watchdog.stdin is not None
        self._watchdog.stdin.close()
        self._watchdog.wait()

    def _ended(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        forget(self._watchdog, process.pid)

    def _home(self, node: int) -> Path:
        return self.folder / f"node-{node}"

    def _properties(self, node: int) -> Path:
        return self._home(node) / "server.properties"

    def _flushes(self, node: int) -> Path:
        return self._home(node) / "flushes.log"

    def _hosts(self, node: int) -> Path:
        return self._home(node) / "hosts"

    def _settings(self, node: int) -> Settings:
        ports, host = self.addresses.ports[node], self.addresses.host(node)
        if node == CONTROLLER:
            own = {
                "process.roles": "controller",
                "listeners": f"CONTROLLER://{HOST}:{ports.internal}",
            }
        else:
            own = {
                "process.roles": "broker",
                "listeners": f"INTERNAL://{HOST}:{ports.internal},CLIENT://{HOST}:{ports.client}",
                "advertised.listeners": (
                    f"INTERNAL://{host}:{ports.internal},CLIENT://{HOST}:{ports.advertised}"
                ),
                "inter.broker.listener.name": "INTERNAL",
            }
        voter = f"{self.addresses.host(CONTROLLER)}:{self.addresses.ports[CONTROLLER].internal}"
        return {
            **own,
            "node.id": str(node),
            "listener.security.protocol.map": LISTENERS,
            "controller.quorum.voters": f"{CONTROLLER}@{voter}",
            "log.dirs": ",".join(map(str, self.log_dirs(node))),
            "metadata.log.dir": str(self.log_dir(node)),
            **EVERY_NODE,
            **replicated(self.layout.brokers),
            **self.layout.settings,
            **self.layout.node_settings.get(node, {}),
        }

    def _java(self, node: int) -> list[str]:
        hosts = f"-Djdk.net.hosts.file={self._hosts(node)}"
        return [
            str(choose().home / "bin" / "java"),
            *JAVA_OPTIONS,
            *([hosts] if self.addresses.proxied else ()),
            f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}",
            f"-D{logging.TRACE_FILE}={self.trace(node)}",
            f"-D{logging.FLUSH_FILE}={self._flushes(node)}",
            "-cp",
            self.jars.classpath,
        ]


_ACTIONS: Final[Mapping[Ability, Callable[[Cluster, int], None]]] = {
    Ability.KILL: Cluster.kill,
    Ability.STOP: Cluster.stop,
    Ability.START: Cluster.start,
    Ability.PAUSE: Cluster.pause,
    Ability.RESUME: Cluster.resume,
    Ability.WIPE: Cluster.wipe,
    Ability.LOSE_POWER: Cluster.lose_power,
}


@contextmanager
def running(folder: Path, jars: Jars, layout: Layout) -> Generator[Cluster]:
    """Starts a new cluster in the new folder `folder`, waits until its brokers accept clients, and
    yields the cluster.

    The processes of the cluster end when the `with` block ends, or when this process ends. The
    files of the cluster are not deleted.
    """
    folder.mkdir(parents=True)
    addresses = Addresses.free(range(layout.brokers + 1), proxied=layout.proxied)
    with ExitStack() as closing:
        proxies = closing.enter_context(Proxies()) if layout.proxied else None
        if proxies is not None:
            addresses.open(proxies)
        cluster = Cluster(folder.resolve(), jars, layout, addresses, proxies, start_watchdog())
        closing.callback(cluster.close)
        cluster.format()
        for node in cluster.nodes:
            cluster.start(node)
        cluster.await_brokers(*cluster.brokers)
        yield cluster


def _registered(admin: AdminClient) -> set[int]:
    try:
        return set(admin.list_topics(timeout=1).brokers)
    except KafkaException:
        return set()
