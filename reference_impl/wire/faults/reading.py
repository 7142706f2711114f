"""Reads fault rules from JSON objects and from the short notation of the command line, and writes
them.

The first example is a JSON object. The other examples use the short notation, each with its
meaning:

    {"do": "error", "error": "NOT_LEADER_OR_FOLLOWER",
     "when": {"api": "Produce", "topic": "orders", "times": 2}}
    error:error=NOT_LEADER_OR_FOLLOWER,api=Produce,topic=orders,times=2
                                          the same rule as the JSON object
    drop-response:every=7                 every seventh applied produce request has no response
    drop-response:probability=0.1         each response to produce is lost with probability 0.1
    kill-broker:id=1,after=50,restart=200
                                          after the 50th applied produce request the broker dies
                                          with its disk intact; after 200 more requests of any kind
                                          to the other brokers it starts again
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from types import NoneType
from typing import Any, Final, get_args, get_origin, get_type_hints

from model.faults import nearest
from model.vocabulary import BrokerId
from reference_impl.wire.faults.rule import (
    CONTROLLER_NAME,
    FAULTS,
    NAMES,
    RECEIVER,
    BadFault,
    Fault,
    Node,
    Resume,
    Rule,
    Start,
    When,
    field_names,
)
from reference_impl.wire.messages.apis import Api

# Kafka's own names: Produce, EndTxn, AddPartitionsToTxn
API_NAMES: Final = {api: "".join(map(str.capitalize, api.name.split("_"))) for api in Api}
_APIS: Final = {name.casefold(): api for api, name in API_NAMES.items()}
OF_RULE: Final = ("do", "when", "then")


# ---------------------------------------------------------------- from JSON


def rule_of(document: Any, at: str = "") -> Rule:
    """Returns the fault rule of a JSON object.

    `at` is the path of the object in the user's input. If the object is not a rule, raises BadFault
    with the path of the wrong field.
    """
    values = _object(document, at)
    name = values.get("do")
    if not isinstance(name, str) or name not in FAULTS:
        known = ", ".join(FAULTS)
        raise BadFault(_in(at, "do"), f"{json.dumps(name)} is no fault; known are {known}")
    kind = FAULTS[name]
    own = {key: value for key, value in values.items() if key not in OF_RULE}
    fault: Fault = _made(kind, own, at, (*field_names(kind), "when", "then"))
    if not at and isinstance(fault, Start | Resume) and fault.broker == RECEIVER:
        raise BadFault("broker", "is missing; the broker that gets a request is up")
    when, then = values.get("when"), values.get("then")
    if then is not None and when is None:
        raise BadFault(
            _in(at, "then"),
            'needs "when" in the same rule: it follows a request that "when" selects',
        )
    try:
        return Rule(
            fault=fault,
            when=None if when is None else when_of(when, _in(at, "when")),
            then=None if then is None else rule_of(then, _in(at, "then")),
        )
    except BadFault as bad:
        raise bad if bad.at.startswith(at) else BadFault(_in(at, bad.at), bad.message) from None


def when_of(document: Any, at: str = "when") -> When:
    made: When = _made(When, _object(document, at), at, field_names(When))
    return made


def _object(document: Any, at: str) -> Mapping[str, Any]:
    if not isinstance(document, dict):
        raise BadFault(at or "body", 'write a JSON object, for example {"do": "heal"}')
    return document


def _made(kind: type[Any], values: Mapping[str, Any], at: str, known: tuple[str, ...]) -> Any:
    hints = get_type_hints(kind)
    for name in values:
        if name not in hints:
            raise BadFault(
                _in(at, name),
                f"there is no such field; the fields are {', '.join(known) or 'none'}",
            )
    for one in fields(kind):
        if one.default is MISSING and one.name not in values:
            raise BadFault(_in(at, one.name), "is missing")
    return kind(
        **{name: _value(hints[name], value, _in(at, name)) for name, value in values.items()}
    )


def _in(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _value(hint: Any, value: Any, at: str) -> Any:
    args = get_args(hint)
    if NoneType in args and value is None:
        return None
    kind = next(arg for arg in args if arg is not NoneType) if NoneType in args else hint
    if get_origin(kind) is tuple:
        if not isinstance(value, list) or not value:
            raise BadFault(at, 'write a list of brokers, for example [1] or [2, "controller"]')
        return tuple(
            _node(one, f"{at}[{index}]", get_args(kind)) for index, one in enumerate(value)
        )
    if args == get_args(Node):
        return _node(value, at, (Node,))
    kind = getattr(kind, "__supertype__", kind)
    if at.rpartition(".")[2] == "error":
        return _error(value, at)
    return _READ[kind](value, at)


def _node(value: Any, at: str, kinds: tuple[Any, ...]) -> BrokerId | str:
    if value == CONTROLLER_NAME and BrokerId not in kinds:
        return CONTROLLER_NAME
    return BrokerId(_whole(value, at))


def _whole(value: Any, at: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadFault(at, f"{json.dumps(value)}: write a whole number that is not negative")
    return value


def _number(value: Any, at: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise BadFault(at, f"{json.dumps(value)}: write a number")
    return value


def _text(value: Any, at: str) -> str:
    if not isinstance(value, str) or not value:
        raise BadFault(at, f"{json.dumps(value)}: write a text")
    return value


def _flag(value: Any, at: str) -> bool:
    if not isinstance(value, bool):
        raise BadFault(at, f"{json.dumps(value)}: write true or false")
    return value


def api_of(value: Any, at: str) -> Api:
    found = _APIS.get(value.replace("_", "").casefold()) if isinstance(value, str) else None
    if found is None:
        near = nearest(str(value), API_NAMES.values())
        raise BadFault(at, f"no API {json.dumps(value)}; the nearest: {near}")
    return found


def _error(value: Any, at: str) -> str:
    if not isinstance(value, str) or error_codes().get(value, 0) == 0:
        names = (name for name, code in error_codes().items() if code)
        near = nearest(str(value), names)
        raise BadFault(at, f"no Kafka error {json.dumps(value)}; the nearest: {near}")
    return value


def error_codes() -> Mapping[str, int]:
    from reference_impl.wire.messages.kio_schemas import KioErrorCode

    return {one.name.upper(): int(one) for one in KioErrorCode}


_READ: Final[Mapping[Any, Callable[[Any, str], Any]]] = {
    int: _whole,
    float: _number,
    str: _text,
    bool: _flag,
    Api: api_of,
}


# ---------------------------------------------------------------- to JSON


def document_of(rule: Rule) -> dict[str, Any]:
    """Returns the rule as a JSON object, without the fields that have their default values."""
    document: dict[str, Any] = {"do": NAMES[type(rule.fault)], **_changed(rule.fault)}
    if rule.when is not None:
        document["when"] = _changed(rule.when)
    if rule.then is not None:
        document["then"] = document_of(rule.then)
    return document


def _changed(one: Fault | When) -> dict[str, Any]:
    values = {each.name: (getattr(one, each.name), each.default) for each in fields(one)}
    return {
        name: API_NAMES[value] if isinstance(value, Api) else value
        for name, (value, default) in values.items()
        if value != default
    }


# ---------------------------------------------------------------- the command line


def parsed(text: str) -> Rule:
    """Returns the fault rule of a text, which is a JSON object or the short notation of this
    module. Raises BadFault if the text is wrong.
    """
    if text.startswith("{"):
        try:
            return rule_of(json.loads(text))
        except json.JSONDecodeError as error:
            raise BadFault("", f"{text}: no JSON: {error}") from None
    name, _, rest = text.partition(":")
    if name not in KNOWN:
        raise BadFault("", f"{name!r} is no fault; known are {', '.join(KNOWN)}")
    values: dict[str, Any] = {}
    for item in rest.split(",") if rest else ():
        key, _, value = item.partition("=")
        values[key] = _scalar(value)
    try:
        return rule_of(_SHORT[name](values) if name in _SHORT else _long(name, values))
    except BadFault as bad:
        raise BadFault("", f"{text}: {bad}") from None


def _scalar(value: str) -> Any:
    try:
        number = json.loads(value)
    except json.JSONDecodeError:
        return value
    return number if isinstance(number, int | float) else value


def _long(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    kind = FAULTS[name]
    own, of_when = set(field_names(kind)), set(field_names(When))
    unknown = values.keys() - own - of_when
    if unknown:
        known = ", ".join((*field_names(kind), *field_names(When)))
        raise BadFault(min(unknown), f"there is no such field; the fields are {known}")
    when = {key: value for key, value in values.items() if key not in own}
    made = {key: _as_list(kind, key, value) for key, value in values.items() if key in own}
    return {"do": name, **made, **({"when": when} if when else {})}


def _as_list(kind: type[Fault], key: str, value: Any) -> Any:
    is_list = key in {"brokers", "others"} and key in field_names(kind)
    return [_scalar(one) for one in str(value).split("+")] if is_list else value


def _drop_response(values: Mapping[str, Any]) -> dict[str, Any]:
    _only(values, "every", "probability")
    if len(values) != 1:
        raise BadFault("", "needs every=N or probability=P")
    every, chance = values.get("every", 2), values.get("probability", 0)
    if every == 1:
        raise BadFault("", "every=1 leaves no response; use 2 or more")
    if chance == 1:
        raise BadFault("", "probability=1 leaves no response; use less than 1")
    return {"do": "disconnect", "when": {"api": "Produce", "applied": True, **values}}


def _kill_broker(values: Mapping[str, Any]) -> dict[str, Any]:
    _only(values, "id", "after", "restart")
    if not {"id", "after"} <= values.keys():
        raise BadFault("", "write id and after, such as kill-broker:id=1,after=100")
    broker, restart = values["id"], values.get("restart")
    crash = {
        "do": "crash",
        "broker": broker,
        "when": {"api": "Produce", "applied": True, "nth": values["after"]},
    }
    start = {"do": "start", "broker": broker, "when": {"nth": restart}}
    return crash if restart is None else {**crash, "then": start}


def _only(values: Mapping[str, Any], *known: str) -> None:
    for key in values:
        if key not in known:
            raise BadFault("", f"{key!r} is not one of {', '.join(known)}")


_SHORT: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "drop-response": _drop_response,
    "kill-broker": _kill_broker,
}
KNOWN: Final = (*_SHORT, *FAULTS)  # of all faults that `parsed` reads
