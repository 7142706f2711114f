"""A fault rule as data: which fault of a cluster happens, and at which requests.

Each line shows a value of the field `do`, and its effect:

    do             effect on each request that `when` selects
    -------------  ------------------------------------------------------------------------------
    drop           no response; the connection stays open and silent until the rule ends
    disconnect     no response; the connection is closed
    delay          the request, or with `applied` its response, is late by `ms`
    error          the response has the Kafka error of this name

    do             effect on the cluster, at once or when `when` selects a request
    -------------  ------------------------------------------------------------------------------
    crash          the process of `broker` dies; its disk stays
    lose-power     the broker dies; records that were not flushed are lost
    start          the broker starts again
    pause          the broker does nothing until it resumes, as after SIGSTOP
    resume         a paused broker continues
    split          `brokers` lose every message from and to the other brokers and the controller
    heal           ends every split (network partition)
    elect          `broker`, or the next replica in sync, becomes the leader of a partition
    reassign       a partition moves to `replicas`; without them its reassignment is cancelled
    advance-clock  the clock of the cluster goes forward by `ms`

A rule without `applied` acts before the request is applied. After the faults `drop`, `disconnect`
and `error`, the request is never applied.

A rule with `applied` acts before the response is sent. It does not count a produce request whose
batches were all rejected.

If each node has a process of its own, the `broker` of crash, start, pause and resume may be
"controller".

A crash, a power loss or a pause without `broker` acts on the broker that receives the selected
request. A later rule (`then`) without `broker` acts on this broker, too.

A rule is triggered by requests and never by the time, because clients over TCP are not
deterministic.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from typing import Final

from model.faults import InputFault
from model.vocabulary import BrokerId
from reference_impl.protocol.messages import CONTROLLER, NodeId
from reference_impl.wire.messages.apis import Api

Node = BrokerId | str  # the text "controller", or a broker
CONTROLLER_NAME: Final = "controller"
LONGEST_ADVANCE_MS: Final = 3_600_000
RECEIVER: Final = BrokerId(0)  # the broker that gets the selected request


def node_of(node: Node) -> NodeId:
    return CONTROLLER if isinstance(node, str) else NodeId(node)


def name_of(node: NodeId) -> str:
    """Returns `controller` or, for example, `broker 2`."""
    return CONTROLLER_NAME if node == CONTROLLER else f"broker {node}"


class BadFault(InputFault):
    """Raised for a fault rule that is wrong or cannot happen. The message names the wrong field
    and the text to write instead.
    """

    def __init__(self, at: str, message: str) -> None:
        super().__init__(f"{at}: {message}" if at else message)
        self.at = at
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """Sends no response. The connection stays open but silent until the rule ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnect:
    """Closes the connection without a response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """Delays a request by `ms` milliseconds. If the rule has `applied`, delays the response
    instead.
    """

    ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Error:
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """Kills the process of a broker or of the controller. The data on its disk survive."""

    broker: Node = RECEIVER


@dataclass(frozen=True, slots=True, kw_only=True)
class LosePower:
    """Kills a broker. The records that it has not flushed are lost."""

    broker: BrokerId = RECEIVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    broker: Node = RECEIVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Stops a broker or the controller until it is resumed. Its connections stay open."""

    broker: Node = RECEIVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    broker: Node = RECEIVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Loses every message between two groups of nodes. Clients can still reach both groups."""

    brokers: tuple[BrokerId, ...]
    others: tuple[Node, ...] | None = None  # None: all other brokers and the controller


@dataclass(frozen=True, slots=True, kw_only=True)
class Heal:
    """Ends every network partition between nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elect:
    """Elects `broker` as the leader. If `broker` is None, elects the live broker that comes after
    the present leader in the list of ISR members.
    """

    topic: str
    partition: int
    broker: BrokerId | None = None  # None: the live member after the leader in the ISR


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassign:
    topic: str
    partition: int
    replicas: tuple[BrokerId, ...] | None = None  # None: cancel


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvanceClock:
    """Advances the cluster's clock by `ms` milliseconds, at most an hour. The clocks of clients
    do not change.
    """

    ms: int

    def __post_init__(self) -> None:
        if self.ms > LONGEST_ADVANCE_MS:
            raise BadFault("ms", f"{self.ms} is more than an hour; advance the clock several times")


OfRequest = Drop | Disconnect | Delay | Error
OfCluster = (
    Crash | LosePower | Start | Pause | Resume | Split | Heal | Elect | Reassign | AdvanceClock
)
OfOneBroker = Crash | LosePower | Start | Pause | Resume
Fault = OfRequest | OfCluster

FAULTS: Final[Mapping[str, type[Fault]]] = {
    "drop": Drop,
    "disconnect": Disconnect,
    "delay": Delay,
    "error": Error,
    "crash": Crash,
    "lose-power": LosePower,
    "start": Start,
    "pause": Pause,
    "resume": Resume,
    "split": Split,
    "heal": Heal,
    "elect": Elect,
    "reassign": Reassign,
    "advance-clock": AdvanceClock,
}
NAMES: Final = {kind: name for name, kind in FAULTS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    broker: BrokerId
    api: Api
    client_id: str | None
    partitions: tuple[tuple[str, int | None], ...] = ()  # None: the topic alone is named


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """The requests at which a fault rule acts: those that match all fields. A field that is None
    matches every request.

    The patterns `client_id` and `topic` may have the wildcards * and ?. From the time when the rule
    was added, the requests that match are numbered 1, 2, 3 and so on. Five further fields select
    some of these numbers:

        nth=4                the rule acts only on number 4
        every=3              the rule acts on the numbers 3, 6, 9 and so on
        first=5              the rule acts on 5, 6, 7 and so on
        first=5, every=3     the rule acts on 7, 10, 13 and so on: number 5 counts as 1
        probability=0.1      the rule acts on each selected request with this probability
        times=2              the rule acts at most twice
    """

    api: Api | None = None
    topic: str | None = None
    partition: int | None = None
    client_id: str | None = None
    broker: BrokerId | None = None
    applied: bool = False
    first: int = 1
    every: int = 1
    times: int | None = None
    nth: int | None = None
    probability: float | None = None

    def __post_init__(self) -> None:
        for name in ("first", "every", "times", "nth"):
            count = getattr(self, name)
            if count is not None and count < 1:
                raise BadFault(f"when.{name}", f"{count}: requests are counted from 1")
        if self.probability is not None and not 0 <= self.probability <= 1:
            raise BadFault("when.probability", f"{self.probability}: write a number from 0 to 1")
        others = (self.first, self.every, self.times, self.probability)
        if self.nth is not None and others != (1, 1, None, None):
            raise BadFault(
                "when.nth",
                "cannot be combined with first, every, times or probability: leave them out",
            )

    @property
    def reads_partitions(self) -> bool:
        return self.topic is not None or self.partition is not None

    def selects(self, request: Request) -> bool:
        """Returns True if the API, the client, the broker and the partition of a request match.

        Fields that count requests, such as `nth`, are ignored.
        """
        return (
            self.api in (None, request.api)
            and self.broker in (None, request.broker)
            and _like(self.client_id, request.client_id or "")
            and (not self.reads_partitions or any(map(self._selects_partition, request.partitions)))
        )

    def _selects_partition(self, named: tuple[str, int | None]) -> bool:
        topic, partition = named
        return _like(self.topic, topic) and self.partition in (None, partition)

    def selects_number(self, number: int, acted: int, coins: random.Random) -> bool:
        """Returns True if the rule acts on the matching request with the number `number`.

        `acted` is the number of earlier requests on which the rule acted. `coins` is a source of
        random numbers; only a rule that acts with a probability uses it.
        """
        if self.nth is not None:
            return number == self.nth
        since = number - self.first + 1
        return (
            since >= 1
            and since % self.every == 0
            and (self.times is None or acted < self.times)
            and (self.probability is None or coins.random() < self.probability)
        )


def _like(pattern: str | None, name: str) -> bool:
    return pattern is None or pattern == name or fnmatchcase(name, pattern)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A fault, and the requests that trigger it. If `when` is None, the fault happens at once."""

    fault: Fault
    when: When | None = None
    # Comes into force when this rule acts for the first time.
    then: Rule | None = None

    def __post_init__(self) -> None:
        if isinstance(self.fault, OfRequest) and self.when is None:
            raise BadFault("when", 'name the requests, for example {"api": "Produce"}; {} is all')
        is_unnamed = isinstance(self.fault, OfOneBroker) and self.fault.broker == RECEIVER
        if is_unnamed and self.when is None:
            raise BadFault("broker", 'is missing; only a rule with "when" may leave it out')

    def at(self, broker: BrokerId) -> Rule:
        """Returns the rule for a request that `broker` receives.

        The number of `broker` replaces the placeholder `RECEIVER`, in this rule and in its rule
        `then`.
        """
        if isinstance(self.fault, OfRequest):
            return self
        then = None if self.then is None else self.then.at(broker)
        return replace(self, fault=at_receiver(self.fault, broker), then=then)


def at_receiver(fault: OfCluster, broker: BrokerId) -> OfCluster:
    """Returns the fault with `broker` in place of the placeholder `RECEIVER`, which stands for
    the broker that receives the selected request.
    """
    if isinstance(fault, OfOneBroker) and fault.broker == RECEIVER:
        return replace(fault, broker=broker)
    return fault


@dataclass(slots=True, eq=False)
class ActiveRule:
    id: int
    rule: Rule
    seed: int
    seen: int = 0
    acted: int = 0
    _coins: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._coins = random.Random(f"fault {self.id} {self.seed}")

    def sees(self, request: Request) -> bool:
        """Counts the request if `when` selects it. Returns True if the rule acts on the request."""
        when = self.rule.when
        if when is None or not when.selects(request):
            return False
        self.seen += 1
        acts = when.selects_number(self.seen, self.acted, self._coins)
        self.acted += acts
        return acts


def field_names(kind: type[Fault | When | Rule]) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))
