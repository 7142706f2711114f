"""Writes the log4j2 configuration of a node. It defines up to three outputs: the node's log, a log
of its flushes, and a trace for `urteil trace`.

The log of flushes shows which records survive a power loss (see the module `power_loss`). The times
in the trace come from the monotonic clock `%nano`, which all processes of a machine share. The
traces of several brokers can therefore be merged. The configuration disables the shutdown hook of
log4j2. So log4j2 continues to write after SIGTERM, while the broker still leads, fetches and
appends during its controlled shutdown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from checkers.systems.apache_kafka.power_loss import LOGGED

TRACE_FILE: Final = "urteil.trace.file"  # the system property that names the file of the trace
FLUSH_FILE: Final = "urteil.flush.file"  # the same of the log of flushes
UNIFIED_LOG: Final = "org.apache.kafka.storage.internals.log.UnifiedLog"
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
_FLUSHES: Final = f"""\
appender.flushes.type = File
appender.flushes.name = flushes
appender.flushes.fileName = ${{sys:{FLUSH_FILE}}}
appender.flushes.layout.type = PatternLayout
appender.flushes.layout.pattern = %d{{ISO8601}} %m%n
appender.flushes.filter.flush.type = RegexFilter
appender.flushes.filter.flush.regex = {LOGGED}
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
    UNIFIED_LOG: "trace",
    "kafka.log.UnifiedLog": "trace",  # until Kafka 4.0
    "org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache": "info",
    "org.apache.kafka.storage.internals.log.ProducerStateManager": "trace",
    "kafka.server.ReplicaFetcherThread": "trace",
    "state.change.logger": "trace",
    "kafka.coordinator.transaction": "trace",
    "org.apache.kafka.controller.ReplicationControlManager": "trace",
}


FLUSHING: Final = (UNIFIED_LOG, "kafka.log.UnifiedLog")  # the second one until Kafka 4.0


def configuration(*, traced: bool) -> str:
    """Returns the text of the log4j2 configuration. If `traced` is True, the node also writes a
    trace.
    """
    levels = TRACED if traced else {}
    loggers = dict.fromkeys(FLUSHING, "debug") | levels
    return "".join(
        (
            _LOG,
            _FLUSHES,
            _TRACE if traced else "",
            *(_logger(name, level, _appenders(name, levels)) for name, level in loggers.items()),
        )
    )


def _appenders(name: str, traced: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the log4j2 appenders of the logger `name`, each with the lowest level of the lines
    that it writes. The keys of `traced` are the loggers that write to the trace.
    """
    flushes = {"flushes": "debug"} if name in FLUSHING else {}
    return flushes | ({"trace": "trace"} if name in traced else {"out": "info"})


def _logger(name: str, level: str, appenders: Mapping[str, str]) -> str:
    key = f"logger.{name.rpartition('.')[2]}-{len(name)}"
    references = (
        f"{key}.appenderRef.{appender}.ref = {appender}\n"
        f"{key}.appenderRef.{appender}.level = {least}\n"
        for appender, least in appenders.items()
    )
    head = f"{key}.name = {name}\n{key}.level = {level}\n{key}.additivity = false\n"
    return head + "".join(references)
