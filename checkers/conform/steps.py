"""Sequences of raw requests, represented as data. Symbols stand for values that a system chooses
itself, such as ids.

A sequence uses its own topics, groups and transactional ids. In the body of a request, a name that
begins with `~` belongs to this sequence, and a name that begins with `^` is used by all sequences
of a run. The functions of this module create the other symbols.

The field `to` of a step describes the broker that gets the request. Each line below has a value of
`to`, and the broker:

    leader ~t 0          the leader of partition 0 of the topic ~t
    follower ~t 0        another broker than this leader
    group ~g             the coordinator of the group ~g
    not-group ~g         another broker than this coordinator
    transaction ~x       the coordinator of the transactional id ~x
    not-transaction ~x   another broker than this coordinator
    controller           the controller that the metadata names
    any                  the broker with the lowest id
    node 1               also the broker with the lowest id
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from reference_impl.wire.messages.apis import Api

Body = Mapping[str, Any]

READS: Final = frozenset(
    {
        Api.FETCH,
        Api.LIST_OFFSETS,
        Api.METADATA,
        Api.OFFSET_FETCH,
        Api.FIND_COORDINATOR,
        Api.OFFSET_FOR_LEADER_EPOCH,
        Api.DESCRIBE_CONFIGS,
        Api.CONSUMER_GROUP_DESCRIBE,
        Api.DESCRIBE_CLUSTER,
        Api.DESCRIBE_TOPIC_PARTITIONS,
        Api.LIST_CONFIG_RESOURCES,
        Api.DESCRIBE_GROUPS,
        Api.LIST_GROUPS,
        Api.DESCRIBE_PRODUCERS,
        Api.DESCRIBE_TRANSACTIONS,
        Api.LIST_TRANSACTIONS,
        Api.DESCRIBE_LOG_DIRS,
        Api.DESCRIBE_QUORUM,
        Api.LIST_PARTITION_REASSIGNMENTS,
        Api.DESCRIBE_USER_SCRAM_CREDENTIALS,
        Api.DESCRIBE_CLIENT_QUOTAS,
        Api.HEARTBEAT,  # of a classic member; it changes nothing
    }
)


NO_SESSION: Final = -1  # the epoch of a fetch without a session


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """A request that is sent to two systems, to compare their answers.

    - `note` is the purpose of the request, such as `two batches`.
    - `binds` maps names to fields of the answer. Later steps use the values of these fields by the
      names.
    - `repeats` is true if the answer may not yet show an earlier change. Then the request is sent
      again while the two answers differ. Requests that change nothing (`READS`) are treated as if
      `repeats` were true, except a Fetch request in a fetch session.
    - `retries` is true if the request is sent again after every retriable error of a coordinator.
      If `retries` is false, it is sent again after CONCURRENT_TRANSACTIONS, but not after the other
      errors.
    """

    api: Api
    version: int
    body: Body
    to: str
    note: str
    binds: Mapping[str, str] = field(default_factory=dict[str, str])
    repeats: bool = False
    retries: bool = True

    @property
    def is_repeated(self) -> bool:
        return self.repeats or (self.api in READS and not self._is_in_fetch_session)

    @property
    def _is_in_fetch_session(self) -> bool:
        # Such a fetch changes its session, so its repetition is another request.
        epoch: int = self.body.get("session_epoch", NO_SESSION)
        return epoch != NO_SESSION

    @property
    def is_answered(self) -> bool:
        """True for every request except a Produce request with acks=0, to which a broker sends no
        response.
        """
        return self.api is not Api.PRODUCE or self.body.get("acks") != 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """A step that sends a request on its own connection, and does not wait for the answer. A later
    `Collect` with the same label waits for the answer.
    """

    label: str
    send: Send


@dataclass(frozen=True, slots=True, kw_only=True)
class Collect:
    """A step that waits for the answer to the request of the `Begin` with the same label. If no
    answer comes within `within_ms`, the result of the step is that there is no answer yet.
    """

    label: str
    within_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A step that waits for `ms` milliseconds, so that an event happens, such as the end of a
    session.
    """

    ms: int


Step = Send | Begin | Collect | Pause


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    name: str
    partitions: int = 1
    configs: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    family: str  # the name of the generator
    seed: int  # the generator's random seed
    topics: tuple[Topic, ...]
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        return f"{self.family} {self.seed}"


# ------------------------------------------------------------ symbols


def bound(*names: str, plus: int = 0, otherwise: int | str | Body = 0) -> dict[str, Any]:
    """Returns a placeholder for a value that was stored from an earlier answer.

    The placeholder becomes the value that is stored under the first of `names`. If no value is
    stored under this name, the next name is used, and so on. If no value is stored under any of the
    names, `otherwise` is used. If `plus` is not zero, it is added to the value.
    """
    return {"$bound": list(names), "plus": plus, "otherwise": otherwise}


def topic_id(topic: str) -> dict[str, Any]:
    """Returns a placeholder for the id of a topic. If the topic does not exist, the placeholder
    becomes the id `UNKNOWN_TOPIC_ID`.
    """
    return {"$topic_id": topic}


def batches(*described: Body) -> dict[str, Any]:
    return {"$batches": list(described)}


def now(ms: int = 0) -> dict[str, Any]:
    """Returns a placeholder for the time `ms` milliseconds after the start of the run."""
    return {"$now": ms}


def raw(data: bytes) -> dict[str, Any]:
    return {"$hex": data.hex()}


def if_same(first: str, second: str, then: Any, otherwise: Any) -> dict[str, Any]:
    """Returns a placeholder that becomes `then` or `otherwise`. It becomes `then` if the values
    that are stored under the names `first` and `second` are equal.
    """
    return {"$if_same": [first, second], "then": then, "otherwise": otherwise}


# ------------------------------------------------------------ JSON


def as_json(step: Step) -> dict[str, Any]:
    match step:
        case Pause():
            return {"pause": step.ms}
        case Collect():
            return {"collect": step.label, "within": step.within_ms}
        case Begin():
            return {"begin": step.label, **as_json(step.send)}
        case Send():
            cells = {
                "api": step.api.name,
                "v": step.version,
                "to": step.to,
                "note": step.note,
                "body": step.body,
            }
            options = {
                "binds": dict(step.binds),
                "repeats": step.repeats,
                "once": not step.retries,
            }
            return cells | {name: option for name, option in options.items() if option}


def from_json(cells: Mapping[str, Any]) -> Step:
    """Returns the step that `as_json` has converted to `cells`. Raises KeyError if a field is
    missing.
    """
    if "pause" in cells:
        return Pause(ms=cells["pause"])
    if "collect" in cells:
        return Collect(label=cells["collect"], within_ms=cells["within"])
    send = Send(
        api=Api[cells["api"]],
        version=cells["v"],
        body=cells.get("body", {}),
        to=cells["to"],
        note=cells["note"],
        binds=cells.get("binds", {}),
        repeats=cells.get("repeats", False),
        retries=not cells.get("once", False),
    )
    return Begin(label=cells["begin"], send=send) if "begin" in cells else send


def described(step: Step) -> str:
    """Returns the step as one line, such as `PRODUCE v9: two batches`."""
    match step:
        case Pause():
            return f"{step.ms} ms pass"
        case Collect():
            return f"answer of {step.label}"
        case Begin():
            return f"{described(step.send)} ({step.label}, not awaited)"
        case Send():
            return f"{step.api.name} v{step.version}: {step.note}"


def all_requests(steps: Sequence[Step]) -> list[Send]:
    return [
        step.send if isinstance(step, Begin) else step
        for step in steps
        if isinstance(step, Send | Begin)
    ]
