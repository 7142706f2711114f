"""The log4j2 configuration of a node: its log, and the trace that `urteil trace` follows.

The trace has one line for each step of replication. `%nano` is one monotonic clock for all
processes of a machine, so the traces of the brokers can be merged. Log4j2 must not stop itself on
SIGTERM: a broker still leads, fetches and appends during its controlled shutdown.
"""

from __future__ import annotations

from typing import Final

TRACE_FILE: Final = "urteil.trace.file"  # the system property that names the file of the trace
_LOG: Final = """\
status = error
shutdownHook = disable
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601} %p %c{1} %m%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
"""
_TRACE: Final = f"""\
appender.trace.type = File
appender.trace.name = trace
appender.trace.fileName = ${{sys:{TRACE_FILE}}}
appender.trace.layout.type = PatternLayout
appender.trace.layout.pattern = %nano %p %c{{1}} [%t] %m%n
"""
TRACED: Final = {  # logger -> level
    "kafka.cluster.Partition": "trace",
    "org.apache.kafka.storage.internals.log.UnifiedLog": "trace",
    "org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache": "info",
    "org.apache.kafka.storage.internals.log.ProducerStateManager": "trace",
    "kafka.server.ReplicaFetcherThread": "trace",
    "state.change.logger": "trace",
    "kafka.coordinator.transaction": "trace",
    "org.apache.kafka.controller.ReplicationControlManager": "trace",
}


def configuration(*, traced: bool) -> str:
    """Returns the log4j2 configuration as a properties file.

    With `traced`, the configuration also makes the node write the trace.
    """
    return _LOG + (_TRACE + "".join(map(_logger, TRACED, TRACED.values())) if traced else "")


def _logger(name: str, level: str) -> str:
    key = f"logger.{name.rpartition('.')[2]}-{len(name)}"
    return (
        f"{key}.name = {name}\n{key}.level = {level}\n{key}.additivity = false\n"
        f"{key}.appenderRef.trace.ref = trace\n"
    )
