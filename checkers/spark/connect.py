"""Opens sessions of a Spark Connect server, for the option `--master sc://host:port`.

The client needs no Java, and it has no SparkContext. It sends this project's packages to the
workers. The workers need NumPy, SciPy, PyArrow, and the same minor version of Python as the client.

Simplified: the server decides how workers start. If the working directory of a worker has a folder
`model/`, the worker imports this folder instead of this project's package.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from model.faults import InputFault

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEME: Final = "sc://"
CONNECT_TIMEOUT_S: Final = 10.0
_SHUFFLE_PARTITIONS: Final = "spark.sql.shuffle.partitions"


def is_connected(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect.")


@contextmanager
def connected(
    master: str, settings: Mapping[str, str], archive: Callable[[Path], Path]
) -> Generator[SparkSession]:
    """Yields a session of the Spark Connect server `master`. If a Spark Connect session is active,
    it is reused.

    Raises InputFault for an invalid address, for a server that does not answer, and for a missing
    package.
    """
    try:
        import grpc
        from pyspark.sql.connect.client import DefaultChannelBuilder
        from pyspark.sql.connect.session import SparkSession as Remote
    except ImportError as missing:
        raise InputFault(
            f"--master {master}: Spark Connect needs packages that are not installed "
            f"({str(missing).splitlines()[0]}); run: pip install 'urteil[connect]'"
        ) from missing
    running = Remote.getActiveSession()
    if running is not None:
        yield cast("SparkSession", running)
        return
    try:
        builder = DefaultChannelBuilder(master)
    except ValueError as why:
        raise InputFault(f"--master {master}: not an address; write sc://HOST:PORT") from why
    channel = builder.toChannel()
    try:
        grpc.channel_ready_future(channel).result(timeout=CONNECT_TIMEOUT_S)
    except grpc.FutureTimeoutError:
        raise InputFault(
            f"--master {master}: no Spark Connect server answered within "
            f"{CONNECT_TIMEOUT_S:.0f} s; check host and port"
        ) from None
    finally:
        channel.close()
    spark: Any = Remote.builder.channelBuilder(builder).create()
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        with tempfile.TemporaryDirectory(prefix="urteil-connect-") as folder:
            spark.addArtifacts(str(archive(Path(folder) / "urteil.zip")), pyfile=True)
        yield cast("SparkSession", spark)
    finally:
        spark.stop()


def is_local(spark: SparkSession) -> bool:
    return not is_connected(spark) and str(spark.sparkContext.master).startswith("local")


def parallelism(spark: SparkSession) -> int:
    """Returns the number of tasks that run in parallel. With Spark Connect, returns the number
    of shuffle partitions instead.
    """
    if is_connected(spark):
        return int(spark.conf.get(_SHUFFLE_PARTITIONS) or 1)
    return spark.sparkContext.defaultParallelism


@contextmanager
def tagged(spark: SparkSession, name: str) -> Generator[None]:
    """Tags the Spark jobs of the `with` block with `name`. A comma in the name becomes a
    semicolon.
    """
    session = cast("Any", spark)
    tag = name.replace(",", ";")
    session.addTag(tag)
    try:
        yield
    finally:
        session.removeTag(tag)


@contextmanager
def reported(spark: SparkSession, done: Callable[[int], None]) -> Generator[None]:
    """Calls `done` at each progress message of the Spark server, until the `with` block ends.

    The argument of `done` is the number of finished tasks of the running stage. If several stages
    run, it is the largest of their numbers of finished tasks. If no stage runs, it is 0.
    """

    def handle(stages: Iterable[Any], **_others: Any) -> None:
        done(max((stage.num_completed_tasks for stage in stages if not stage.done), default=0))

    session = cast("Any", spark)
    session.registerProgressHandler(handle)
    try:
        yield
    finally:
        session.removeProgressHandler(handle)
