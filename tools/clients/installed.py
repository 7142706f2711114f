"""Installs the clients: the package manager of each language fetches pinned packages.

A client is built only once. Later calls find it in Urteil's cache, unless its sources have changed.
Each row has a language, and how its clients are installed:

    Python      the development requirements of this project
    Node        npm, with node/package.json
    Go          go build, with go/go.mod
    Java        Maven copies the jars of java/pom.xml, javac compiles
    Rust        cargo build, with rust/Cargo.toml
    kcat        the package of the operating system
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Final

from checkers.cache import cache
from model.faults import InputFault

HERE: Final = Path(__file__).parent
Command = Sequence[str]  # the program; the scenario's arguments follow


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    version: str
    command: Command


Install = Callable[[], Installed]  # raises InputFault if the program cannot be installed


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client to try. `install` installs the client, and raises InputFault if the installation
    fails.
    """

    name: str
    language: str
    install: Install


def python(module: str, package: str) -> Install:
    def install() -> Installed:
        try:
            version = version_of(package)
        except PackageNotFoundError:
            raise InputFault(
                f"{package} is not installed; install requirements.txt with pip"
            ) from None
        command = (sys.executable, "-m", f"tools.clients.python.{module}")
        return Installed(version=version, command=command)

    return install


def node(program: str, package: str) -> Install:
    def install() -> Installed:
        pinned = json.loads((HERE / "node" / "package.json").read_text(encoding="utf-8"))[
            "dependencies"
        ]
        folder = built(HERE / "node", ("npm", "install", "--ignore-scripts", "--silent"))
        return Installed(
            version=pinned[package], command=(_program("node"), str(folder / f"{program}.mjs"))
        )

    return install


def go(program: str, module: str) -> Install:
    def install() -> Installed:
        pinned = (HERE / "go" / "go.mod").read_text(encoding="utf-8")
        folder = built(HERE / "go", ("go", "build", "-o", "bin/", "./..."))
        (version,) = re.findall(rf"^\s*(?:require )?{re.escape(module)} v(\S+)", pinned, re.M)
        return Installed(version=version, command=(str(folder / "bin" / program),))

    return install


def java(main: str) -> Install:
    def install() -> Installed:
        (version,) = re.findall(
            r"kafka-streams</artifactId>\s*<version>(.*)</version>",
            (HERE / "java" / "pom.xml").read_text(encoding="utf-8"),
        )
        folder = built(
            HERE / "java",
            ("mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"),
            (
                "javac",
                "-cp",
                "jars/*",
                "-d",
                "classes",
                "Scenarios.java",
                "Streams.java",
                "Example.java",
            ),
        )
        places = f"{folder / 'jars'}/*:{folder / 'classes'}"
        return Installed(version=version, command=(_program("java"), "-cp", places, main))

    return install


def rust(program: str, crate: str) -> Install:
    def install() -> Installed:
        pinned = (HERE / "rust" / "Cargo.toml").read_text(encoding="utf-8")
        (version,) = re.findall(rf'{crate} = .*version = "=(.*?)"', pinned)
        folder = built(HERE / "rust", ("cargo", "build", "--release", "--quiet"))
        return Installed(version=version, command=(str(folder / "target/release" / program),))

    return install


def kcat() -> Installed:
    ended = subprocess.run([_program("kcat"), "-V"], capture_output=True, text=True, check=False)
    (version,) = re.findall(r"Version (\S+)", ended.stdout)
    command = (sys.executable, "-m", "tools.clients.python.kcat")
    return Installed(version=version, command=command)


CLIENTS: Final = (
    Client(name="Java client", language="Java", install=java("Scenarios")),
    Client(name="Kafka Streams", language="Java", install=java("Streams")),
    Client(
        name="confluent-kafka", language="Python", install=python("confluent", "confluent-kafka")
    ),
    Client(name="kafka-python", language="Python", install=python("pure", "kafka-python")),
    Client(name="aiokafka", language="Python", install=python("asynchronous", "aiokafka")),
    Client(name="franz-go", language="Go", install=go("franz", "github.com/twmb/franz-go")),
    Client(name="sarama", language="Go", install=go("sarama", "github.com/IBM/sarama")),
    Client(name="kafkajs", language="Node", install=node("kafkajs", "kafkajs")),
    Client(
        name="@platformatic/kafka",
        language="Node",
        install=node("platformatic", "@platformatic/kafka"),
    ),
    Client(name="rdkafka", language="Rust", install=rust("with_rdkafka", "rdkafka")),
    Client(name="rskafka", language="Rust", install=rust("with_rskafka", "rskafka")),
    Client(name="kcat", language="C", install=kcat),
)
BY_NAME: Final = {client.name: client for client in CLIENTS}


def built(sources_in: Path, *calls: Command) -> Path:
    """Returns a copy of the folder `sources_in` in which the commands `calls` have been run.

    If the cache already has a copy with the same sources, this copy is returned, and no command is
    run. Raises InputFault if a command is missing or fails.
    """
    language = sources_in.name
    sources = sorted(path for path in sources_in.rglob("*") if path.is_file())
    digest = 0
    for path in sources:
        digest = zlib.crc32(path.read_bytes(), zlib.crc32(path.name.encode(), digest))
    # so unchanged programs are built only once
    folder = cache("clients") / f"{language}-{digest:08x}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        copied = Path(temporary) / language
        shutil.copytree(sources_in, copied)
        for name, *rest in calls:
            ended = subprocess.run(
                [_program(name), *rest], cwd=copied, capture_output=True, text=True, check=False
            )
            if ended.returncode:
                said = (ended.stderr.strip() or ended.stdout.strip())[-2000:]
                raise InputFault(f"{sources_in} cannot be built with {name}: {said}")
        if not folder.exists():  # another process may have been faster
            copied.rename(folder)
    return folder


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise InputFault(
            f"there is no `{name}`: install it, or leave out what needs it with --only"
        )
    return found
