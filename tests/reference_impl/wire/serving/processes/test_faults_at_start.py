"""Faults that are set at the start act on all brokers, even if each broker is its own process.

The option `applied_log` names a file, to which all brokers write each batch that they append.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.faults.reading import parsed
from reference_impl.wire.faults.rule import BadFault
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.server.applied_log import applied, applied_but_unanswered
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving
from tests.reference_impl.wire.one_topic import leader, produce
from tests.reference_impl.wire.waiting import until


def test_a_rule_counts_the_requests_to_all_brokers(tmp_path: Path, connect: Any) -> None:
    options = ServeOptions(
        brokers=2,
        processes=True,
        faults=(parsed("drop-response:every=3"),),
        applied_log=tmp_path / "applied",
        fault_log=tmp_path / "faults",
    )
    with serving(options) as cluster:
        answered: list[bool] = []
        for broker_id in (1, 2, 1, 2, 1, 2):
            client = connect(cluster.bootstrap_servers, broker_id - 1)
            topic = f"of-{broker_id}"
            create(client, topic, broker_id)
            client.send(Api.PRODUCE, 9, **produce(topic, b"a", sequence=len(answered) // 2))
            answered.append(client.receive_frame() is not None)
        assert answered == [True, True, False, True, True, False]
        cluster.kill(options.broker_ids[0])
        cluster.start(options.broker_ids[0])
    log = tmp_path / "applied"
    assert (applied(log), applied_but_unanswered(log)) == (6, 2)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["broker"] for line in lines] == [1, 2, 1, 2, 1, 2]
    faults = [json.loads(line) for line in (tmp_path / "faults").read_text().splitlines()]
    assert [(fault["do"], fault["node"]) for fault in faults] == [("kill", 1), ("restart", 1)]


def create(client: Any, topic: str, broker_id: int) -> None:
    new = {
        "name": topic,
        "num_partitions": -1,
        "replication_factor": -1,
        "assignments": [{"partition_index": 0, "broker_ids": [broker_id]}],
    }
    (result,) = client.call(Api.CREATE_TOPICS, 7, topics=[new], timeout=5_000).topics
    assert result.error_code in {ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS}
    until(lambda: leader(client, topic) == broker_id)


@pytest.mark.parametrize("text", ["lose-power:broker=1,nth=3", "crash:broker=1,nth=3"])
def test_a_power_loss_of_a_process_is_refused(text: str) -> None:
    rule = replace(parsed("crash:broker=2,nth=1"), then=parsed(text))
    if text.startswith("crash"):
        assert ServeOptions(processes=True, faults=(rule,)).faults == (rule,)
        return
    assert ServeOptions(faults=(rule,)).faults == (rule,)
    with pytest.raises(BadFault, match=r"then\.do: a broker that is a process has no power"):
        ServeOptions(processes=True, faults=(rule,))
