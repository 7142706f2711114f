"""Creates a topic on a single controller of Apache Kafka that has a slow disk, and then simulates a
power loss.

    python docs/findings/unflushed_metadata.py           # the case: the topic is lost
    python docs/findings/unflushed_metadata.py --flushed # the control: every byte was flushed

`strace` delays each flush of the controller by six seconds. After the response to CreateTopics, the
controller is killed. In the case, the bytes that were not flushed are then removed from the
metadata log, as a power loss may do. The control keeps them.

Needs Linux, strace, and Maven, which needs a network at the first run. It takes a minute.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from checkers.systems.apache_kafka import jars
from checkers.systems.apache_kafka.addresses import CONTROLLER
from checkers.systems.apache_kafka.cluster import Cluster, running
from checkers.systems.system import Layout

FLUSH_S: Final = 6
WITHIN_S: Final = 60.0
TOPIC: Final = "t"
NEXT: Final = "u"
FLUSHES: Final = "fsync,fdatasync"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flushed", action="store_true", help="the control: keep every byte")
    parser.add_argument("--version", default="4.3.0", help="the version of Apache Kafka")
    options = parser.parse_args()
    if shutil.which("strace") is None:
        parser.error("install strace: it delays the flushes")
    downloaded = jars.download(jars.checked(options.version))
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder) / "cluster", downloaded, Layout(brokers=1)) as cluster,
    ):
        cluster.await_brokers(1)
        lose_topic(cluster, Path(folder) / "flushes", keeps=options.flushed)


def lose_topic(cluster: Cluster, flushes: Path, *, keeps: bool) -> None:
    log = cluster.log_dir(CONTROLLER) / "__cluster_metadata-0" / "00000000000000000000.log"
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    slow = delay_flushes(cluster.pid(CONTROLLER), flushes)
    while "fsync" not in flushes.read_text():  # the controller writes twice a second
        if slow.poll() is not None:
            sys.exit("strace ended: it may not trace the controller; run this as root")
        time.sleep(0.1)
    flushed = log.stat().st_size
    say(f"the controller flushes its metadata log, which has {flushed} bytes")

    begun = time.monotonic()
    admin.create_topics([NewTopic(TOPIC, 1, 1)], request_timeout=WITHIN_S)[TOPIC].result()
    say(f"the topic {TOPIC} is created after {time.monotonic() - begun:.1f} s")
    cluster.kill(CONTROLLER)
    slow.wait()
    if len(flushes_in(flushes)) != 2:  # the one before the change, and its own
        sys.exit("the controller flushed another file, too: run this again")
    say(f"the controller is killed, and its metadata log has {log.stat().st_size} bytes")
    say(f"the flush of the new bytes never ended: {flushes_in(flushes)[-1]}")

    if not keeps:
        with log.open("r+b") as file:
            file.truncate(flushed)
        say(f"the bytes that were not flushed are removed: {log.stat().st_size} bytes")
    cluster.start(CONTROLLER)
    admin.create_topics([NewTopic(NEXT, 1, 1)], request_timeout=WITHIN_S)[NEXT].result()
    while NEXT not in (topics := admin.list_topics(timeout=WITHIN_S).topics):
        time.sleep(0.5)
    say(f"after the restart, {NEXT} is created; the topics are {', '.join(sorted(topics))}")


def delay_flushes(pid: int, output: Path) -> subprocess.Popen[bytes]:
    """Starts `strace`, which delays each flush of a process and writes the flushes to a file."""
    output.touch()
    delay = f"inject={FLUSHES}:delay_enter={FLUSH_S}s"
    call = ["strace", "-f", "-tt", "-e", f"trace={FLUSHES}", "-e", delay]
    return subprocess.Popen([*call, "-o", str(output), "-p", str(pid)], stderr=subprocess.DEVNULL)


def flushes_in(output: Path) -> list[str]:
    return [line for line in output.read_text().splitlines() if "sync(" in line]


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
