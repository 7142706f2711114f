"""Generates rounds of faults on the brokers from a seed, and injects them.

When a round begins and when it ends, every broker is running. Each entry below has a kind of round
and what happens in it:

    stop            one broker stops cleanly, so its session ends at once; it is then started again
    kill            one broker dies by SIGKILL and is started again: leaders move, logs recover
    pause           one broker is paused for longer than its session, and other brokers replace it
                    as a leader. When it resumes, it still acts as a leader, and its sockets still
                    have requests
    power-loss      one machine loses power, and with it every record that was not flushed
    blackout        all machines lose power at once. With Kafka's default settings, the operating
                    system decides when to flush, so acknowledged records are lost
    reassign        one broker becomes the first replica of every partition, then the leader where
                    it is in sync: leaders and replicas move without a failure
    last-standing   all brokers but one are paused, until this last broker is alone in every ISR.
                    The last broker is killed, the others resume, and the last broker starts again.
                    An unclean election can happen, because the other brokers lack the records that
                    the last broker acknowledged while it was alone

The rounds depend on nothing but the seed, the kinds, the brokers and their session timeout.
Clusters with different settings can therefore have the same rounds.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checkers.histories.io.faults import Step
from checkers.systems.administration import perform
from checkers.systems.system import Ability, System

CALM_S: Final = 2.0  # between two rounds
DOWN_S: Final = (1.0, 4.0)
PAST_SESSION_S: Final = (1.5, 4.0)  # how much longer than a session a pause takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One action on a broker. It begins `after_s` seconds after the previous action of
    the round.
    """

    after_s: float
    do: Ability
    node: int


Round = tuple[Planned, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """The inputs from which rounds are generated. `session_s` is the brokers' session timeout. A
    paused broker is paused for longer than this timeout.
    """

    rng: random.Random
    brokers: Sequence[int]
    session_s: float

    def past_session(self) -> float:
        return self.session_s + self.rng.uniform(*PAST_SESSION_S)

    def down(self) -> float:
        return self.rng.uniform(*DOWN_S)


def _of_one(
    begin: Ability, end: Ability, lasts_s: Callable[[Draw], float] = Draw.down
) -> Callable[[Draw], Round]:
    """Returns a kind of round with two actions on one broker. `lasts_s` draws the seconds between
    them.
    """

    def drawn(draw: Draw) -> Round:
        node = draw.rng.choice(draw.brokers)
        return (
            Planned(after_s=CALM_S, do=begin, node=node),
            Planned(after_s=lasts_s(draw), do=end, node=node),
        )

    return drawn


def _blackout(draw: Draw) -> Round:
    first, *others = draw.rng.sample(list(draw.brokers), len(draw.brokers))
    return (
        Planned(after_s=CALM_S, do=Ability.LOSE_POWER, node=first),
        *(Planned(after_s=0, do=Ability.LOSE_POWER, node=node) for node in others),
        *(Planned(after_s=0.1, do=Ability.START, node=node) for node in (first, *others)),
    )


def _last_standing(draw: Draw) -> Round:
    last, *others = draw.rng.sample(list(draw.brokers), len(draw.brokers))
    return (
        *(Planned(after_s=CALM_S / 2, do=Ability.PAUSE, node=node) for node in others),
        Planned(after_s=draw.past_session(), do=Ability.KILL, node=last),
        *(Planned(after_s=0.1, do=Ability.RESUME, node=node) for node in others),
        Planned(after_s=draw.past_session(), do=Ability.START, node=last),
    )


KINDS: Final[Mapping[str, Callable[[Draw], Round]]] = {
    "kill": _of_one(Ability.KILL, Ability.START),
    "pause": _of_one(Ability.PAUSE, Ability.RESUME, Draw.past_session),
    "power-loss": _of_one(Ability.LOSE_POWER, Ability.START),
    "blackout": _blackout,
    "reassign": _of_one(Ability.REASSIGN, Ability.ELECT),
    "last-standing": _last_standing,
    "stop": _of_one(Ability.STOP, Ability.START),
}
NEEDS: Final[Mapping[str, frozenset[Ability]]] = {  # the abilities that a kind of round needs
    "kill": frozenset({Ability.KILL, Ability.START}),
    "pause": frozenset({Ability.PAUSE, Ability.RESUME}),
    "power-loss": frozenset({Ability.LOSE_POWER, Ability.START}),
    "blackout": frozenset({Ability.LOSE_POWER, Ability.START}),
    "reassign": frozenset({Ability.REASSIGN, Ability.ELECT}),
    "last-standing": frozenset({Ability.KILL, Ability.START, Ability.PAUSE, Ability.RESUME}),
    "stop": frozenset({Ability.STOP, Ability.START}),
}


def rounds(
    seed: int, kinds: Sequence[str], brokers: Sequence[int], session_s: float
) -> Iterator[Round]:
    """Yields an infinite sequence of rounds of faults. The kinds are used in turn, for example
    kill, pause, kill, pause. `session_s` is the brokers' session timeout.
    """
    draw = Draw(rng=random.Random(f"faults {seed}"), brokers=brokers, session_s=session_s)
    while True:
        for kind in kinds:
            yield KINDS[kind](draw)


def inflict(
    system: System, drawn: Iterator[Round], until: threading.Event, done: list[Step]
) -> None:
    """Injects rounds of faults until the event `until` is set. Appends each action to `done`.

    If the event is set during a round, the function ends after this round, when every broker runs
    again.
    """
    for steps in drawn:
        if until.is_set():
            return
        for step in steps:  # a round is always finished: it ends with every broker running
            time.sleep(step.after_s)
            perform(system, step.do, step.node)
            done.append(Step(at_ns=time.monotonic_ns(), do=step.do.value, node=step.node))
        system.await_brokers(*system.brokers)
