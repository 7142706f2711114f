"""Generates requests for features that are switched off, such as access control and delegation
tokens.
"""

from __future__ import annotations

from typing import Any, Final

from checkers.conform.families.draw import Draw
from checkers.conform.steps import Send, Topic, raw, topic_id
from reference_impl.wire.messages.apis import Api

ANY: Final = 1  # resource type, pattern type, operation and permission of a filter
TOPIC, LITERAL, USER, ALL, ALLOW = 2, 3, "User:u", 2, 3
_FILTER: Final = {
    "resource_type_filter": ANY,
    "resource_name_filter": None,
    "pattern_type_filter": ANY,
    "principal_filter": None,
    "host_filter": None,
    "operation": ANY,
    "permission_type": ANY,
}
_ACL: Final = {
    "resource_type": TOPIC,
    "resource_name": "~t",
    "resource_pattern_type": LITERAL,
    "principal": USER,
    "host": "*",
    "operation": ALL,
    "permission_type": ALLOW,
}
MEMBER: Final = "AAAAAAAAAAAAAAAAAAAAAA"
GROUP: Final = "~g"
_ACKNOWLEDGED: Final = {
    "group_id": GROUP,
    "member_id": MEMBER,
    "share_session_epoch": 0,
    "is_renew_ack": False,
    "topics": [],
}
_FETCHED: Final = {
    **_ACKNOWLEDGED,
    "max_wait": 100,
    "min_bytes": 1,
    "max_bytes": 100,
    "max_records": 10,
    "batch_size": 10,
    "share_acquire_mode": 0,
    "forgotten_topics_data": [],
}


def _state(**partition: Any) -> dict[str, Any]:
    topic = {"topic_id": topic_id("~nowhere"), "partitions": [{"partition": 0, **partition}]}
    return {"group_id": GROUP, "topics": [topic]}


_WRITTEN: Final = _state(
    state_epoch=0, leader_epoch=0, start_offset=0, delivery_complete_count=0, state_batches=[]
)
_OF_GROUPS: Final = {"group_ids": [GROUP, "~h"], "include_authorized_operations": False}
_OFFSETS: Final = {
    "group_id": GROUP,
    "topics": [
        {"topic_name": "~t", "partitions": [{"partition_index": 0, "start_offset": 0}]},
    ],
}
_TASKS: Final = ("active_tasks", "standby_tasks", "warmup_tasks", "task_offsets")
_STREAMS: Final = {
    "group_id": GROUP,
    "member_id": "m",
    "member_epoch": 0,
    "endpoint_information_epoch": 0,
    "instance_id": None,
    "rack_id": None,
    "rebalance_timeout": 1000,
    "topology": None,
    "process_id": None,
    "user_endpoint": None,
    "client_tags": None,
    "task_end_offsets": None,
    "shutdown_application": False,
    **dict.fromkeys(_TASKS),
}
_JOIN: Final = {
    "group_id": GROUP,
    "member_id": MEMBER,
    "member_epoch": 0,
    "rack_id": None,
    "subscribed_topic_names": ["~t"],
}
_OWNER: Final = {"owner_principal_type": "User", "owner_principal_name": "o"}
REQUESTS: Final[tuple[tuple[Api, dict[str, Any]], ...]] = (
    (Api.DESCRIBE_ACLS, _FILTER),
    (Api.CREATE_ACLS, {"creations": [_ACL, _ACL]}),
    (Api.DELETE_ACLS, {"filters": [_FILTER]}),
    (Api.CREATE_DELEGATION_TOKEN, {**_OWNER, "renewers": [], "max_lifetime": 1000}),
    (Api.RENEW_DELEGATION_TOKEN, {"hmac": raw(b"1"), "renew_period": 1000}),
    (Api.EXPIRE_DELEGATION_TOKEN, {"hmac": raw(b"1"), "expiry_time_period": 1000}),
    (Api.DESCRIBE_DELEGATION_TOKEN, {"owners": None}),
    (Api.DESCRIBE_CLIENT_QUOTAS, {"components": [], "strict": False}),
    (Api.SHARE_GROUP_DESCRIBE, _OF_GROUPS),
    (Api.STREAMS_GROUP_DESCRIBE, _OF_GROUPS),
    (Api.DESCRIBE_SHARE_GROUP_OFFSETS, {"groups": [{"group_id": GROUP, "topics": None}]}),
    (Api.ALTER_SHARE_GROUP_OFFSETS, _OFFSETS),
    (Api.DELETE_SHARE_GROUP_OFFSETS, {"group_id": GROUP, "topics": [{"topic_name": "~t"}]}),
    (Api.STREAMS_GROUP_HEARTBEAT, _STREAMS),
    (Api.SHARE_GROUP_HEARTBEAT, _JOIN),
    (Api.SHARE_FETCH, _FETCHED),
    (Api.SHARE_ACKNOWLEDGE, _ACKNOWLEDGED),
    (Api.INITIALIZE_SHARE_GROUP_STATE, _state(state_epoch=0, start_offset=0)),
    (Api.READ_SHARE_GROUP_STATE, _state(leader_epoch=0)),
    (Api.WRITE_SHARE_GROUP_STATE, _WRITTEN),
    (Api.DELETE_SHARE_GROUP_STATE, _state()),
    (Api.READ_SHARE_GROUP_STATE_SUMMARY, _state(leader_epoch=0)),
)


def switched_off(draw: Draw) -> tuple[Topic, ...]:
    for api, body in REQUESTS:
        version = draw.version(api)
        is_of_group = "SHARE" in api.name or "STREAMS" in api.name  # no coordinator here
        draw.add(
            Send(
                api=api,
                version=version,
                body=body,
                to="node 1",
                note="switched off",
                retries=not is_of_group,
            )
        )
    return ()
