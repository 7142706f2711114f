"""The Hypothesis rules of the suite `transactions`: faults of producers with one transactional id.

Messages are late or lost. Brokers crash or lose their unflushed records, including the brokers of
transaction coordinators. Most rules are *focused*: they first let the cluster recover from earlier
faults, and then lead it directly to a fragile moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from model.vocabulary import BrokerId, TopicPartition
from properties.suites.machines.driven import Power
from properties.suites.transactions.instances import SEND_ATTEMPTS
from properties.suites.transactions.one_id import OneIdMachine
from reference_impl.protocol.coordinators import CONSUMER_OFFSETS, TRANSACTION_STATE
from reference_impl.protocol.messages import NO_BROKER, NodeId
from reference_impl.simulation.faults import Hold, Lose, On, PowerLoss, ShutDown


class TransactionsMachine(OneIdMachine):
    SIMPLER: ClassVar[Mapping[str, tuple[int, ...]]] = {**OneIdMachine.SIMPLER, "commits": (1, 0)}
    CLAIM_NEEDS: ClassVar[Mapping[str, Power]] = {"coordinator_log_is_replicated": Power.KILL}
    SETTING_NEEDS: ClassVar[Mapping[str, Power]] = {
        "V1, not verified": Power.UNVERIFIED,
        "one replica": Power.ONE_REPLICA,
    }
    NEEDS: ClassVar[Mapping[str, Power]] = {
        **OneIdMachine.NEEDS,
        "verify_late": Power.DELAY,
        "mark_late": Power.DELAY,
        "lose_marker_answers": Power.DELAY,
        "commit_and_crash_leader_of_marker": Power.DELAY,
        "commit_and_crash_coordinator": Power.KILL,
        "lose_coordinator": Power.WIPE,
        "lose_group_coordinator": Power.WIPE,
        "lose_newest_instance": Power.LOSE_POWER,
    }

    @precondition(lambda self: "records" in self.setting.late)
    @rule()
    def send_late(self) -> None:
        """Sends a record and aborts; the record reaches the leader only after the abort marker.

        The setting must permit late records.
        """
        self.calm_down()
        self._delay(_requests("Produce", count=SEND_ATTEMPTS), 400)
        self.send(1)
        self.abort()
        self.cluster.run_for(200)

    @precondition(lambda self: "verifications" in self.setting.late)
    @rule()
    def verify_late(self) -> None:
        """Delays the verification of a record until its transaction is aborted.

        Before a leader appends a transactional record, it asks the coordinator whether the
        partition belongs to an open transaction (AddPartitionsToTxn). The response to this request
        is late.
        """
        self.calm_down()
        for place in self._outputs:
            leader = NodeId(self.cluster.leader(place))
            self._delay(On(api="AddPartitionsToTxn", source=leader), 270)  # the response
        self.send(1)
        self.abort()
        self.cluster.run_for(200)

    @precondition(lambda self: "ends" in self.setting.late)
    @rule(commits=st.integers(0, 1))
    def end_late(self, commits: int) -> None:
        """Delays an EndTxn until its retry has ended the transaction, and the next transaction is
        open.

        If `commits` is 1, the EndTxn commits the transaction. If `commits` is 0, it aborts the
        transaction.
        """
        self.calm_down()
        self.send(1)
        self._delay(_requests("EndTxn", topic=None), 300)
        self._end(self.newest, self.newest.commit if commits else self.newest.abort)
        self.send(1)
        self.cluster.run_for(200)

    @precondition(lambda self: "markers" in self.setting.late)
    @rule()
    def mark_late(self) -> None:
        """Delays the first marker request of a commit until the next transaction is open.

        In the meantime, the coordinator repeats the request, and the repeated request ends the
        transaction.
        """
        self.calm_down()
        self.send(2)
        self._delay(_requests("WriteTxnMarker"), 550)
        self.commit()
        self.cluster.run_for(370)
        self.send(2)
        self.cluster.run_for(200)

    @precondition(lambda self: self.setting.replicas == 1)
    @rule()
    def lose_newest_instance(self) -> None:
        """Makes the coordinator forget the newest producer, but not the producer before it.

        The coordinator's broker shuts down cleanly, which flushes its log, and then starts again.
        After this, a new producer starts, and the broker loses power.
        """
        self.calm_down()
        broker = self._coordinator()
        self.cluster.apply(ShutDown(broker))
        self.cluster.run_until(lambda: not self.cluster.is_up(broker), 3_000)
        self.cluster.restart(broker)
        self.cluster.run_for(600)
        self.calm_down()
        self.replace()
        self.cluster.run_until(lambda: not self.newest.is_busy, 1_000)
        self.cluster.apply(PowerLoss(broker))
        self.cluster.run_for(600)  # until the controller has noticed
        self.calm_down()

    @rule(count=st.integers(1, 2))
    def lose_marker_answers(self, count: int) -> None:
        """Loses responses to WriteTxnMarkers.

        The coordinator then does not learn that the partitions have written the markers. `count` is
        the number of lost responses.
        """
        self.cluster.apply(On(api="WriteTxnMarker", count=count, does=Lose()))

    @precondition(lambda self: self.newest.in_transaction)
    @rule()
    def commit_and_crash_coordinator(self) -> None:
        """Commits, and crashes the coordinator when the commit is acknowledged."""
        self.commit()
        self.cluster.crash(self._coordinator())

    @precondition(lambda self: not self.some_down() and self.cluster.all_in_sync())
    @rule()
    def lose_coordinator(self) -> None:
        """Restarts the broker of the coordinator with an empty disk.

        The broker is the leader of the partition of `__transaction_state`.
        """
        self._empty_disk(self._coordinator())

    @precondition(lambda self: self.setting.replicas == 1)
    @rule()
    def lose_group_coordinator(self) -> None:
        """Commits a group offset, and restarts the group's coordinator with an empty disk."""
        self.calm_down()
        self.send_offset()
        self.commit()
        self._empty_disk(self.cluster.leader(self.cluster.topic_partitions(CONSUMER_OFFSETS)[0]))

    @rule()
    def commit_and_crash_leader_of_marker(self) -> None:
        """Commits, and crashes a leader before its followers have fetched the commit marker.

        The fetches of the followers are late. The next marker requests are late, too, until a new
        leader is elected.
        """
        self.calm_down()
        place = self._outputs[0]
        leader = self.cluster.leader(place)
        self.send(1)
        for broker in self.cluster.broker_ids:
            fetches = _requests("Fetch", count=2)
            of_follower = replace(fetches, partition=place.index, source=NodeId(broker))
            self._delay(replace(of_follower, target=NodeId(leader)), 1_000)
        self.cluster.run_for(210)  # the open fetches of the followers are answered
        self.commit()
        self.cluster.run_for(80)
        self.cluster.crash(leader)
        self._delay(_requests("WriteTxnMarker", count=2), 600)
        self.cluster.run_until(lambda: self._is_led_by_another(place, leader), 600)
        self.cluster.run_for(400)

    def _delay(self, requests: On, late_ms: int) -> None:
        self.cluster.apply(replace(requests, does=Hold(late_ms)))

    def _is_led_by_another(self, place: TopicPartition, leader: BrokerId) -> bool:
        return self.cluster.leader(place) not in {leader, NO_BROKER}

    def _coordinator(self) -> BrokerId:
        return self.cluster.leader(self.cluster.topic_partitions(TRANSACTION_STATE)[0])

    def _empty_disk(self, broker: BrokerId) -> None:
        self.cluster.replace_disk(broker)
        if broker != NO_BROKER:
            self.cluster.restart(broker)


def _requests(api: str, *, topic: str | None = "output", count: int = 1) -> On:
    return On(api=api, topic=topic, count=count, moment="before")
