"""The text of a counterexample fits one screen: its steps, the reason, and the replay command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checkers.explicit.search import explore
from checkers.report.counterexample import WIDTH, counterexample
from model.language import (
    Bool,
    Int,
    Map,
    Record,
    Scope,
    Set,
    Sort,
    Spec,
    action,
    all_of,
    exists,
    forall,
    implies,
    invariant,
    true,
    when,
)
from model.specs import SPECS, all_variants, find
from model.variants import Variant

GOLDEN = (Path(__file__).parent / "truncate_to_hw.txt").read_text().rstrip("\n")


def shown(variant: Variant, *, verbose: int = 0) -> str:
    spec = variant.make(variant.at)
    found = replace(explore(spec, properties=[str(variant.breaks)]), seconds=0.05)
    return counterexample(
        spec,
        found,
        found.violated[0],
        spec_name=f"{variant.spec} {variant.name}",
        replay=["urteil check replication --variant truncate-to-hw --set replicas=2"],
        verbose=verbose,
    )


def test_truncation_to_the_high_watermark_is_printed_in_eight_steps() -> None:
    assert shown(find("replication", "truncate-to-hw")) == GOLDEN


def test_a_verbose_text_has_every_state_in_full() -> None:
    text = shown(find("replication", "truncate-to-hw"), verbose=1)
    *_, last = text.split("  state 8\n")
    assert text.startswith(GOLDEN)
    assert "    log[b0].end_offset = 1\n" in last
    assert "    log[b1].end_offset = 0\n" in last
    assert "    replica[b0].isr = {b0 b1}\n" in last


def quickest(spec: str) -> Variant:
    invariants = {c.name for c in find(spec).make().claims}
    broken = [v for v in all_variants() if v.spec == spec and v.breaks in invariants]
    return min(broken, key=lambda v: v.steps or 0)


@pytest.mark.parametrize("spec", SPECS)
def test_a_variant_of_every_spec_fits_the_screen(spec: str) -> None:
    lines = shown(quickest(spec)).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert sum("← here" in line for line in lines) == 1
    assert any(line.startswith("  false because    ") for line in lines)
    assert any(line.startswith("  allowed because  ") for line in lines)


class Broker(Sort):
    prefix = "b"


class Topic(Sort):
    pass


class Level(Int):
    pass


class Disk(Record):
    used: Level
    full: Bool


class Disks(Spec):
    disk: Map[Broker, Disk]
    owners: Map[Topic, Set[Broker]]
    degraded: Bool

    def scope(s) -> Scope:
        return {Broker: 2, Topic: 1, Level: range(3)}

    @action
    def write(s, b: Broker, topic: Topic, much: Level) -> None:
        room = s.disk[b].used + 1
        when(
            ~s.disk[b].full, ~s.owners[topic][b], room <= 2, exists(level < room for level in Level)
        )
        s.disk[b].used = room
        s.owners[topic][b] = True
        s.degraded = true

    @invariant
    def flags(s) -> Bool:
        return forall(
            implies(~s.disk[b].full, all_of(~s.owners[topic][b], ~s.degraded))
            for b in Broker
            for topic in Topic
        )


def test_flags_sets_and_names_are_printed_by_their_names() -> None:
    spec = Disks()
    found = explore(spec)
    lines = counterexample(spec, found, "flags").splitlines()
    assert "     1  write(b0, t0, much 0)  disk[b0]    used 0 → 1   ← here" in lines
    assert "                               owners[t0]  {} → {b0}" in lines
    assert "                               degraded    false → true" in lines
    assert "  false because    for b b0, topic t0; disk[b0].full is false" in lines
    assert "                   but  b0 ∉ owners[t0]  is false" in lines
    assert (
        "  allowed because  disk[b0].full is false; b0 ∉ owners[t0]; disk[b0].used 0 + 1 ≤ 2"
        in lines
    )
    assert "                   exists(level < disk.used[b0] + 1 for level in Level)" in lines
    assert "  scope            no constants" in lines
    assert "  also             violated: nothing else" in lines


def test_an_initial_state_that_violates_is_printed() -> None:
    class Wrong(Disks):
        @invariant
        def none_at_all(s) -> Bool:
            return exists(s.disk[b].full for b in Broker)

    spec = Wrong()
    lines = counterexample(spec, explore(spec), "none_at_all").splitlines()
    assert lines[0].startswith("✗ none_at_all  violated after 0 steps")
    assert "  allowed because  it is an initial state" in lines
    assert "  also             violated: flags (1 steps)" in lines


def test_disabled_actions_of_each_state_are_explained() -> None:
    text = shown(find("replication", "truncate-to-hw"), verbose=2)
    first, second = text.split("  state 0\n")[1].split("  state 1\n")[:2]
    refused = "    disabled: leader_write(b0), as this is false: replica[b0].leader nothing is b0\n"
    assert refused in first
    assert refused in second
    assert "disabled: controller_elect_leader" not in first
    assert "disabled: become_leader" in first
    assert "disabled: become_leader" not in second
