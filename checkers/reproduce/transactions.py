"""A transactional producer whose caller chooses each request and its time.

In transaction version 2 (KIP-890), a produce request adds its partition to the transaction, and
each end of a transaction returns a new producer epoch. All requests go to one broker, which must
lead the partition and be the coordinator of the transactional id.

Source: KIP-98; KIP-360; KIP-890.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from model.vocabulary import ProducerEpoch, ProducerId, Sequence
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.wire.messages.apis import Api

TRANSACTIONAL_ID: Final = "x"
TIMEOUT_MS: Final = 60_000
NEW_INSTANCE: Final = {  # the body of InitProducerId
    "transactional_id": TRANSACTIONAL_ID,
    "transaction_timeout": TIMEOUT_MS,
    "producer_id": -1,
    "producer_epoch": -1,
}
BUSY: Final = frozenset({
    "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "NOT_COORDINATOR",
    "CONCURRENT_TRANSACTIONS",
})  # fmt: skip
BUSY_FOR_S: Final = 20.0
NO_ANSWER: Final = "no answer within 10 s"
Call = Callable[[Api, int, dict[str, Any]], Any]
Send = Callable[[Api, int, Mapping[str, Any]], dict[str, Any]]


@dataclass(slots=True)
class RawTransactions:
    call: Call
    topic: str
    version: int
    producer_id: int = -1
    epoch: int = -1
    sequence: int = 0

    def begin(self) -> str:
        """Requests a producer id and an epoch, and stores them. Returns the error of the
        response, which is `NONE` for a success.
        """
        self._settled(lambda: coordinator(self.call))
        answer = self._settled(lambda: self.call(Api.INIT_PRODUCER_ID, 4, NEW_INSTANCE))
        self.producer_id, self.epoch = answer["producer_id"], answer["producer_epoch"]
        return str(answer["error_code"])

    def newer_instance(self) -> str:
        """Requests a producer id and an epoch as a newer instance of this producer would, but does
        not store them. Returns the error of the response, or `NONE`.
        """
        return str(self.call(Api.INIT_PRODUCER_ID, 4, NEW_INSTANCE)["error_code"])

    def use_epochs(self, until: int, send: Send) -> str:
        """Repeats InitProducerId until the producer epoch is `until`, or until a request fails.
        Returns the error of the latest response, or `NONE`.
        """
        answer: dict[str, Any] = {"error_code": "NONE"}
        while answer["error_code"] == "NONE" and self.epoch < until:
            answer = self._settled(lambda: send(Api.INIT_PRODUCER_ID, 4, NEW_INSTANCE))
            self.producer_id, self.epoch = answer["producer_id"], answer["producer_epoch"]
        return str(answer["error_code"])

    def next_epoch(self, epoch: int, *, busy_for_s: float = BUSY_FOR_S) -> str:
        """Requests the epoch after `epoch` (KIP-360). Returns the response as a text with its error
        and its epoch.

        The producer does not store the new epoch, as if the response were lost. It repeats the
        request for `busy_for_s` seconds if the coordinator asks it to wait.
        """
        body = {**NEW_INSTANCE, "producer_id": self.producer_id, "producer_epoch": epoch}
        answer = self._settled(lambda: self.call(Api.INIT_PRODUCER_ID, 4, body), busy_for_s)
        return f"{answer['error_code']}, epoch {answer['producer_epoch']}"

    def add_partition(self) -> str:
        """Adds the partition to the transaction by a request of its own, as clients before
        KIP-890 do. Returns the error of the response, or `NONE`.
        """
        body = {
            "v3_and_below_transactional_id": TRANSACTIONAL_ID,
            "v3_and_below_producer_id": self.producer_id,
            "v3_and_below_producer_epoch": self.epoch,
            "v3_and_below_topics": [{"name": self.topic, "partitions": (0,)}],
        }
        return str(
            self._settled(lambda: _added(self.call(Api.ADD_PARTITIONS_TO_TXN, 3, body)))[
                "error_code"
            ]
        )

    def produce(self, value: str) -> dict[str, Any]:
        record = Record(value=value.encode(), timestamp_ms=time.time_ns() // 1_000_000)
        batch = encode(
            [record],
            producer_id=ProducerId(self.producer_id),
            producer_epoch=ProducerEpoch(self.epoch),
            base_sequence=Sequence(self.sequence),
            transactional=True,
        )
        body = {
            "transactional_id": TRANSACTIONAL_ID,
            "acks": -1,
            "timeout": 5_000,
            "topic_data": [
                {"name": self.topic, "partition_data": [{"index": 0, "records": batch}]}
            ],
        }
        version = 12 if self.version == 2 else 9
        answer = self.call(Api.PRODUCE, version, body)["responses"][0]["partition_responses"][0]
        if answer["error_code"] == "NONE":
            self.sequence += 1
        return dict(answer)

    def end(self, *, commit: bool) -> str:
        """Commits or aborts the transaction. Returns the error of the response, or `NONE`."""
        body = {
            "transactional_id": TRANSACTIONAL_ID,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "committed": commit,
        }
        if self.version == 1:
            return str(self._settled(lambda: self.call(Api.END_TXN, 3, body))["error_code"])
        answer = self._settled(lambda: self.call(Api.END_TXN, 5, body))
        if answer["error_code"] == "NONE" and answer["producer_epoch"] != self.epoch:
            self.producer_id, self.epoch = answer["producer_id"], answer["producer_epoch"]
            self.sequence = 0
        return str(answer["error_code"])

    def marker(self, *, commit: bool, version: int) -> str:
        """Sends a transaction marker with the producer's epoch to the leader, as the coordinator
        would. Returns the error of the response, or `NONE`. `version` is the version of the
        request.
        """
        marker = self._marker(commit=commit)
        if version == 2:
            marker["transaction_version"] = 2
        answer = self.call(Api.WRITE_TXN_MARKERS, version, {"markers": [marker]})
        return str(answer["markers"][0]["topics"][0]["partitions"][0]["error_code"])

    def two_markers(self, *, unknown_first: bool) -> str:
        """Sends two transaction markers in one request, as the coordinator does for transactions
        that end at the same time. Returns both errors of the response, or `NO_ANSWER`.

        One marker commits this producer's transaction. The other marker names another producer,
        and a partition that the broker does not have.
        """
        ours = self._marker(commit=True)
        topics = [{"name": f"not-{self.topic}", "partition_indexes": (0,)}]
        unknown = {**ours, "producer_id": self.producer_id + 1, "topics": topics}
        markers = [unknown, ours] if unknown_first else [ours, unknown]
        try:
            answer = self.call(Api.WRITE_TXN_MARKERS, 1, {"markers": markers})
        except TimeoutError:
            return NO_ANSWER
        errors = {
            one["producer_id"]: one["topics"][0]["partitions"][0]["error_code"]
            for one in answer["markers"]
        }
        return f"{errors[self.producer_id]}, {errors[self.producer_id + 1]}"

    def _marker(self, *, commit: bool) -> dict[str, Any]:
        return {
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "transaction_result": commit,
            "topics": [{"name": self.topic, "partition_indexes": (0,)}],
            "coordinator_epoch": 0,
        }

    def _settled(
        self, request: Callable[[], dict[str, Any]], busy_for_s: float = BUSY_FOR_S
    ) -> dict[str, Any]:
        until = time.monotonic() + busy_for_s
        while True:
            answer = request()
            if answer["error_code"] not in BUSY or time.monotonic() >= until:
                return answer
            time.sleep(0.1)


def coordinator(call: Call) -> dict[str, Any]:
    """Returns the response of one broker to FindCoordinator: the coordinator of the transactional
    id, or an error. `call` sends the request.
    """
    body = {"key_type": 1, "coordinator_keys": (TRANSACTIONAL_ID,)}
    return dict(call(Api.FIND_COORDINATOR, 4, body)["coordinators"][0])


def _added(answer: dict[str, Any]) -> dict[str, Any]:
    result = answer["results_by_topic_v3_and_below"][0]["results_by_partition"][0]
    return {"error_code": result["partition_error_code"]}
