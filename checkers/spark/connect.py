"""A session of a Spark Connect server: `--master sc://host:port`.

The client is Python alone, without Java; what it asks for goes to the server as a plan. There are
DataFrames, artifacts and reports of progress, and no SparkContext. Our packages go there as an
archive, of which the workers of this session import them.

The server's workers have the same Python as this process (to the minor version), and NumPy, SciPy
and PyArrow; histories lie where they and this process find them under one path.

Simplified: how the workers are started is the server's: a folder `model/` in the folder where they
run would be imported in place of ours.
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
ANSWERS_WITHIN_S: Final = 10.0
_SHUFFLED_INTO: Final = "spark.sql.shuffle.partitions"


def is_connected(spark: SparkSession) -> bool:
    """The session is one of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


@contextmanager
def connected(
    master: str, settings: Mapping[str, str], archive: Callable[[Path], Path]
) -> Generator[SparkSession]:
    """A session of the server that has our packages; it ends with the block.

    InputFault where nobody answers, and without the packages that a client needs.
    """
    try:
        import grpc
        from pyspark.sql.connect.client import DefaultChannelBuilder
        from pyspark.sql.connect.session import SparkSession as Remote
    except ImportError as missing:
        raise InputFault(
            f"--master {master}: Spark Connect needs packages that are not here "
            f"({str(missing).splitlines()[0]}); pip install 'urteil[connect]'"
        ) from missing
    running = Remote.getActiveSession()
    if running is not None:
        yield cast("SparkSession", running)
        return
    try:
        builder = DefaultChannelBuilder(master)
    except ValueError as why:
        raise InputFault(f"--master {master}: no address; write sc://HOST:PORT") from why
    channel = builder.toChannel()
    try:
        grpc.channel_ready_future(channel).result(timeout=ANSWERS_WITHIN_S)
    except grpc.FutureTimeoutError:
        raise InputFault(
            f"--master {master}: no Spark Connect server answers there within "
            f"{ANSWERS_WITHIN_S:.0f} s; check host and port"
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
    """Its tasks run on this machine, in one Java with its driver."""
    return not is_connected(spark) and str(spark.sparkContext.master).startswith("local")


def parallelism(spark: SparkSession) -> int:
    """How many tasks run at once; of a server into how many parts it deals out what is shuffled."""
    if is_connected(spark):
        return int(spark.conf.get(_SHUFFLED_INTO) or 1)
    return spark.sparkContext.defaultParallelism


@contextmanager
def reported(spark: SparkSession, done: Callable[[int], None]) -> Generator[None]:
    """Hears how many tasks of the stage that is running are done, as the server reports it."""

    def handle(stages: Iterable[Any], **_others: Any) -> None:
        done(max((stage.num_completed_tasks for stage in stages if not stage.done), default=0))

    told = cast("Any", spark)
    told.registerProgressHandler(handle)
    try:
        yield
    finally:
        told.removeProgressHandler(handle)
