"""A cluster of Apache Kafka on this machine: one controller, three brokers, each a process.

No fault touches the controller process, and brokers do not vote for controllers. So the controller
can elect new leaders of partitions after every fault. Faults are signals to a broker's process:
`kill` (SIGKILL: no clean shutdown, the page cache survives), `pause` and `resume` (SIGSTOP,
SIGCONT: the broker does not notice the time that passed), and `start` on the same files.

All addresses are on loopback. Ports are below the range of outgoing connections, so that no other
process takes the port of a broker that is down.

Source: Kafka documentation, "KRaft".
"""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from benchmarks.apache_kafka import jars
from benchmarks.apache_kafka.settings import EVERY_NODE, Settings, written

HOST: Final = "127.0.0.1"
CONTROLLER: Final = 0
BROKERS: Final = (1, 2, 3)
FIRST_PORT, LAST_PORT = 19_092, 29_092
CLUSTER_ID: Final = "dXJ0ZWlsLWFwYWNoZS1rYQ"  # 16 bytes in URL-safe Base64
STARTS_WITHIN_S: Final = 90.0
STOPS_WITHIN_S: Final = 20.0
JAVA_OPTIONS: Final = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
LOGGING: Final = """\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601} %p %c{1} %m%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
"""


class ClusterFailed(RuntimeError):
    """A node did not start, or died without a fault; the message names the node and its log."""


@dataclass(slots=True)
class Cluster:
    """Four Kafka processes and their files; the nodes are numbered."""

    folder: Path
    settings: Settings
    ports: dict[int, int] = field(default_factory=dict[int, int])
    _running: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{HOST}:{self.ports[node]}" for node in BROKERS)

    def log_dir(self, node: int) -> Path:
        """Returns the folder with the node's replicas."""
        return self.folder / f"node-{node}" / "logs"

    def log(self, node: int) -> Path:
        """Returns the path of the node's server log."""
        return self.folder / f"node-{node}" / "server.log"

    def format(self) -> None:
        """Writes the settings and formats the storage of a new cluster."""
        free = _free_ports()
        self.ports = {node: next(free) for node in (CONTROLLER, *BROKERS)}
        (self.folder / "log4j2.properties").write_text(LOGGING)
        for node in self.ports:
            self.log_dir(node).mkdir(parents=True)
            self._properties(node).write_text(written(self._settings_of(node)))
            tool = ("kafka.tools.StorageTool", "format", "--cluster-id", CLUSTER_ID)
            asked = self._command(*tool, "--config", str(self._properties(node)))
            ended = subprocess.run(asked, capture_output=True, text=True, check=False)
            if ended.returncode:
                raise ClusterFailed(f"node {node} can't be formatted: {ended.stdout}{ended.stderr}")

    def start(self, node: int) -> None:
        """Starts the process of the node, and does not wait until the node is ready."""
        with self.log(node).open("ab") as log:
            self._running[node] = subprocess.Popen(
                self._command("kafka.Kafka", str(self._properties(node))),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches the campaign only
            )

    def await_brokers(self, *nodes: int) -> None:
        """Waits until the given brokers are registered; raises ClusterFailed after a timeout."""
        until = time.monotonic() + STARTS_WITHIN_S
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
        while True:
            for node, process in self._running.items():
                if process.poll() is not None:
                    raise ClusterFailed(f"node {node} died; see {self.log(node)}")
            try:
                if set(nodes) <= set(admin.list_topics(timeout=1).brokers):
                    return
            except KafkaException:
                pass  # no broker answers yet
            if time.monotonic() > until:
                raise ClusterFailed(f"brokers {nodes} are not there after {STARTS_WITHIN_S:.0f} s")
            time.sleep(0.2)

    def kill(self, node: int) -> None:
        process = self._running.pop(node)
        process.kill()
        process.wait()

    def pause(self, node: int) -> None:
        self._running[node].send_signal(signal.SIGSTOP)

    def resume(self, node: int) -> None:
        self._running[node].send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Stops the brokers cleanly, one after the other, and then the controller."""
        for process in self._running.values():
            process.send_signal(signal.SIGCONT)
        for node in sorted(self._running, reverse=True):
            process = self._running.pop(node)
            process.terminate()
            try:
                process.wait(STOPS_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _properties(self, node: int) -> Path:
        return self.folder / f"node-{node}" / "server.properties"

    def _settings_of(self, node: int) -> Settings:
        role, listener = (
            ("controller", "CONTROLLER") if node == CONTROLLER else ("broker", "PLAINTEXT")
        )
        return {
            "process.roles": role,
            "node.id": str(node),
            "listeners": f"{listener}://{HOST}:{self.ports[node]}",
            "controller.quorum.voters": f"{CONTROLLER}@{HOST}:{self.ports[CONTROLLER]}",
            "log.dirs": str(self.log_dir(node)),
            **EVERY_NODE,
            **self.settings,
        }

    def _command(self, *program: str) -> list[str]:
        logging = f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}"
        classpath = f"{jars.fetched()}/*"
        return [str(jars.java()), *JAVA_OPTIONS, logging, "-cp", classpath, *program]


@contextmanager
def running(folder: Path, settings: Settings) -> Generator[Cluster]:
    """Starts a new cluster and waits for its brokers; ends all processes when the block ends."""
    cluster = Cluster(folder, settings)
    try:
        cluster.format()
        for node in (CONTROLLER, *BROKERS):
            cluster.start(node)
        cluster.await_brokers(*BROKERS)
        yield cluster
    finally:
        cluster.stop()


def _free_ports() -> Generator[int]:
    for port in range(FIRST_PORT, LAST_PORT):
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)):
                yield port
