"""Programs are printed, parsed and run, and their calls are simplified.

A program is the list of calls of one run, such as `state.send(count=2)`. A simplified call has a
smaller value for one argument.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from properties.suites.search.programs import Call, calls_in

names = st.from_regex(r"[a-z_]{1,8}", fullmatch=True).filter(str.isidentifier)
calls = st.builds(
    Call,
    st.sampled_from(["send", "crash_leader"]),
    st.dictionaries(st.sampled_from(["count", "broker"]), st.integers(-5, 5)).map(
        lambda arguments: tuple(arguments.items())
    ),
)


@given(st.lists(calls))
def test_printed_calls_are_parsed_again(program: list[Call]) -> None:
    text = "\n".join(["state = Machine()", *map(str, program), "state.teardown()"])
    assert calls_in(text) == tuple(program)


class Recorder:
    def __init__(self) -> None:
        self.sent: list[int] = []

    def send(self, count: int) -> None:
        self.sent.append(count)


def test_a_call_runs_with_its_arguments() -> None:
    machine = Recorder()
    for call in calls_in("state.send(count=2)\nstate.send(count=3)"):
        call.run(machine)
    assert machine.sent == [2, 3]


def test_a_call_gets_simpler_one_argument_at_a_time() -> None:
    (call,) = calls_in("state.pause(ms=40, broker=1)")
    simpler = call.simplified({"ms": (5, 40, 100), "broker": (0, 1)})
    assert list(map(str, simpler)) == [
        "state.pause(ms=5, broker=1)",
        "state.pause(ms=40, broker=0)",
    ]
    assert list(call.simplified({})) == []
