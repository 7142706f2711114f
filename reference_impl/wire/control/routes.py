"""Answers the requests of the control port.

Each line of the table shows a request, and its effect or the content of its answer. The field
`when` of a fault selects the client requests at which the fault happens.

    GET    /                   the brokers with their states, and the bootstrap servers
    POST   /faults             adds a fault, or lets it happen at once if it has no `when`
    GET    /faults             the faults in force; for each, the number of requests it has seen
    GET    /faults/N           the fault N; waits until this fault has acted `acted` times
    DELETE /faults/N           ends the fault N
    DELETE /faults             ends all faults
    GET    /requests           the logged requests that match the query; waits for `count` of them
    DELETE /requests           clears the log
    POST   /topics             creates a topic
    GET    /topics             the topics, with the leader of each partition
    POST   /reset              ends all faults, starts and resumes every node, clears the log

The bodies of requests and answers are JSON objects. An answer with status 400 has the fields
`error`, which is the reason, and `at`, which names the wrong part of the request.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from model.faults import InputFault
from model.vocabulary import BrokerId
from reference_impl.protocol.controller import CreatedTopic, CreateTopic, MetadataImage
from reference_impl.protocol.coordinators import INTERNAL_TOPICS
from reference_impl.protocol.messages import CONTROLLER, ErrorCode, NodeId
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.faults.cluster_faults import (
    SPREADS_WITHIN_S,
    Faulty,
    carry_out,
    check_rule,
)
from reference_impl.wire.faults.faults_in_force import FaultsInForce
from reference_impl.wire.faults.reading import document_of, rule_of, when_of
from reference_impl.wire.faults.request_log import RequestLog
from reference_impl.wire.faults.rule import ActiveRule, BadFault, OfRequest
from reference_impl.wire.faults.rules_in_force import UnknownRule

LONGEST_WAIT_MS: Final = 60_000
Answer: TypeAlias = tuple[int, dict[str, Any]]


class Controlled(Faulty, Protocol):
    """The part of a cluster that the control port reads and changes."""

    @property
    def faults(self) -> FaultsInForce: ...

    @property
    def now_ms(self) -> int:
        """The wall-clock time of the cluster in ms."""
        ...

    async def image(self) -> MetadataImage:
        """Returns the newest metadata of the controller. Brokers apply these metadata a little
        later.
        """
        ...

    @property
    def addresses(self) -> Mapping[BrokerId, Address]: ...

    @property
    def bootstrap_servers(self) -> str: ...

    @property
    def pids(self) -> Mapping[BrokerId, int]: ...

    @property
    def controller_pid(self) -> int | None: ...

    async def calm(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request to the control port. `rest` is the part of its path after the route, such as `3`
    for `/faults/3`.
    """

    rest: str
    query: Mapping[str, str]
    body: bytes

    def document(self) -> Any:
        try:
            return json.loads(self.body or b"null")
        except ValueError as error:
            raise BadFault("body", f"no JSON: {error}; write a JSON object") from None

    def number(self, name: str, default: int, most: int | None = None) -> int:
        text = self.query.get(name, str(default))
        if not text.isdecimal() or (most is not None and int(text) > most):
            limit = "" if most is None else f" up to {most}"
            raise BadFault(f"query.{name}", f"{text!r}: write a whole number{limit}")
        return int(text)


async def answer(cluster: Controlled, method: str, target: str, body: bytes) -> Answer:
    url = urlsplit(target)
    first, _, rest = url.path.strip("/").partition("/")
    methods = {of: handler for (path, of), handler in ROUTES.items() if path == first}
    if not methods:
        known = ", ".join(sorted({f"/{path}" for path, _ in ROUTES}))
        return 404, {"at": "path", "error": f"no path {url.path}; known are {known}"}
    if method not in methods:
        known = ", ".join(sorted(methods))
        return 405, {"at": "method", "error": f"/{first} has no {method}; it has {known}"}
    query = dict(parse_qsl(url.query, keep_blank_values=True))
    try:
        return await methods[method](cluster, Asked(rest=rest, query=query, body=body))
    except BadFault as bad:
        return 400, {"at": bad.at, "error": bad.message}
    except UnknownRule as unknown:
        return 404, {"at": "path", "error": str(unknown)}
    except InputFault as fault:  # a node cannot start
        return 400, {"at": "", "error": str(fault)}


# ---------------------------------------------------------------- the cluster


async def _show_cluster(cluster: Controlled, asked: Asked) -> Answer:
    del asked
    brokers = [
        {
            "id": broker,
            "address": f"{at[0]}:{at[1]}",
            "state": _state(cluster, NodeId(broker)),
            **({"pid": cluster.pids[broker]} if broker in cluster.pids else {}),
        }
        for broker, at in cluster.addresses.items()
    ]
    pid = cluster.controller_pid
    controller = {"state": _state(cluster, CONTROLLER), **({} if pid is None else {"pid": pid})}
    return 200, {
        "bootstrap_servers": cluster.bootstrap_servers,
        "brokers": brokers,
        "controller": controller,
        "now_ms": cluster.now_ms,
    }


def _state(cluster: Controlled, node: NodeId) -> str:
    if not cluster.is_up(node):
        return "down"
    return "paused" if cluster.is_paused(node) else "running"


async def _reset(cluster: Controlled, asked: Asked) -> Answer:
    cluster.faults.rules.clear()
    await cluster.heal()
    for node in (CONTROLLER, *map(NodeId, cluster.brokers)):
        if cluster.is_up(node):
            cluster.resume(node)
        else:
            await cluster.restart(node)
    await cluster.calm()
    _log(cluster).clear()
    return await _show_cluster(cluster, asked)


# ---------------------------------------------------------------- faults


async def _add_fault(cluster: Controlled, asked: Asked) -> Answer:
    rule = rule_of(asked.document())
    check_rule(rule, cluster.brokers, processes=cluster.processes)
    if rule.when is not None:
        return 201, _described(cluster.faults.rules.add(rule))
    assert not isinstance(rule.fault, OfRequest), "such a rule always has `when`"
    await carry_out(cluster, rule.fault)
    return 200, document_of(rule)


async def _show_faults(cluster: Controlled, asked: Asked) -> Answer:
    rules = cluster.faults.rules
    if not asked.rest:
        return 200, {"faults": [_described(active) for active in rules]}
    active = rules.of_id(_id(asked))
    times, wait_ms = asked.number("acted", 0), asked.number("wait_ms", 0, LONGEST_WAIT_MS)
    try:
        async with asyncio.timeout(wait_ms / 1000):
            await rules.has_acted(active, times)
    except TimeoutError:
        pass  # the caller sees how often it has acted
    return 200, _described(active)


async def _end_faults(cluster: Controlled, asked: Asked) -> Answer:
    rules = cluster.faults.rules
    if not asked.rest:
        rules.clear()
        return 200, {"faults": []}
    active = rules.of_id(_id(asked))
    rules.remove(active)
    return 200, _described(active)


def _log(cluster: Controlled) -> RequestLog:
    log = cluster.faults.log
    assert log is not None, "a cluster with a control port logs its requests"
    return log


def _id(asked: Asked) -> int:
    if not asked.rest.isdecimal():
        raise BadFault("path", f"/faults/{asked.rest}: write the number of a fault")
    return int(asked.rest)


def _described(active: ActiveRule) -> dict[str, Any]:
    counts = {"id": active.id, "seen": active.seen, "acted": active.acted}
    return {**counts, **document_of(active.rule)}


# ---------------------------------------------------------------- the log of requests

_OF_QUERY: Final = ("since", "count", "wait_ms")


async def _show_requests(cluster: Controlled, asked: Asked) -> Answer:
    log = _log(cluster)
    selection = {name: value for name, value in asked.query.items() if name not in _OF_QUERY}
    for name in selection:
        if name not in ("api", "topic", "partition", "client_id", "broker"):
            known = "api, topic, partition, client_id, broker, since, count, wait_ms"
            raise BadFault(f"query.{name}", f"there is no such field; the fields are {known}")
    numbers = {name: asked.number(name, 0) for name in ("partition", "broker") if name in selection}
    when = when_of({**selection, **numbers}, "query")
    since, count = asked.number("since", 0), asked.number("count", 0)
    await log.await_matching(when, since, count, asked.number("wait_ms", 0, LONGEST_WAIT_MS))
    return 200, {
        "last": log.last,
        "requests": [one.document() for one in log.matching(when, since)],
    }


async def _clear_requests(cluster: Controlled, asked: Asked) -> Answer:
    del asked
    log = _log(cluster)
    log.clear()
    return 200, {"last": log.last, "requests": []}


# ---------------------------------------------------------------- topics


async def _create_topic(cluster: Controlled, asked: Asked) -> Answer:
    document = asked.document()
    live = sum(cluster.is_up(NodeId(broker)) for broker in cluster.brokers)
    wanted = {"partitions": 1, "replicas": min(3, live)}
    if not isinstance(document, dict) or not isinstance(document.get("name"), str):
        raise BadFault("body", 'write {"name": "orders", "partitions": 3, "replicas": 3}')
    for name, value in document.items():
        if name not in ("name", *wanted):
            raise BadFault(
                name, f"there is no such field; the fields are name, {', '.join(wanted)}"
            )
        if name != "name" and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise BadFault(name, f"{json.dumps(value)}: write a whole number from 1 on")
    wanted |= {name: value for name, value in document.items() if name != "name"}
    request = CreateTopic(
        topic=document["name"],
        topic_partitions=wanted["partitions"],
        replication_factor=wanted["replicas"],
    )
    response = await cluster.call_controller(request)
    assert isinstance(response, CreatedTopic)
    if response.error is not ErrorCode.NONE:
        raise BadFault("body", f"{response.error.name}: {response.message}")
    await cluster.spread(SPREADS_WITHIN_S)
    return 201, _topics(await cluster.image())[request.topic]


async def _show_topics(cluster: Controlled, asked: Asked) -> Answer:
    del asked
    return 200, {"topics": [*_topics(await cluster.image()).values()]}


def _topics(image: MetadataImage) -> dict[str, dict[str, Any]]:
    topics: dict[str, dict[str, Any]] = {}
    for place, state in image.topic_partitions:
        if place.topic not in INTERNAL_TOPICS:
            topic = topics.setdefault(place.topic, {"name": place.topic, "partitions": []})
            topic["partitions"].append(
                {
                    "partition": place.index,
                    "leader": state.leader,
                    "leader_epoch": state.leader_epoch,
                    "replicas": state.replicas,
                    "isr": state.isr,
                }
            )
    return topics


ROUTES: Final[Mapping[tuple[str, str], Callable[[Controlled, Asked], Awaitable[Answer]]]] = {
    ("", "GET"): _show_cluster,
    ("faults", "POST"): _add_fault,
    ("faults", "GET"): _show_faults,
    ("faults", "DELETE"): _end_faults,
    ("requests", "GET"): _show_requests,
    ("requests", "DELETE"): _clear_requests,
    ("topics", "POST"): _create_topic,
    ("topics", "GET"): _show_topics,
    ("reset", "POST"): _reset,
}
