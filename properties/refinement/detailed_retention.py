"""The spec `retention` takes only steps that `retention-abstract` allows.

The *detailed spec*, `retention`, has the keys of the records in each log, and loses them when
records are deleted or compacted. The *abstract spec*, `retention-abstract`, is small enough to be
proved. Its logs have leader epochs, and its state contains the key of every record that was ever
appended. Each detailed step is one abstract step.

Only the detailed versions with eligible leader replicas (`WithElr`) have an ELR. For the other
versions, the abstract ELR must be empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from model.language.interpreter import State
from model.retention.versions import Retention
from model.retention_abstract.versions import AbstractRetention
from properties.refinement.behaviour import Call, as_int
from properties.refinement.history_mapping import Difference, HistoryMapping, Transition

OF_PARTITION: Final = ("leader", "leader_epoch", "requested", "deleted", "true_high_watermark")
OF_LOG: Final = ("log_start", "end_offset", "high_watermark")


@dataclass
class Refinement(HistoryMapping[Retention]):
    version: type[AbstractRetention] = AbstractRetention

    @cached_property
    def abstract(self) -> AbstractRetention:
        return self.version(
            replicas=self.detailed.replicas,
            keys=self.detailed.keys,
            offsets=self.detailed.log_size + 1,
            leader_epochs=self.detailed.max_leader_epoch + 1,
        )

    @cached_property
    def _replicas(self) -> range:
        return range(self.detailed.replicas)

    # ---- the mapping

    def calls(self, step: Transition, abstract: State) -> list[Call]:
        after = step.after
        match step.action, step.arguments:
            case "produce" as name, (r, key):
                return [Call(name, (key, as_int(after["log.end_offset", (r,)])))]
            case "advance_high_watermark" as name, (r,):
                return [Call(name, (as_int(after["log.high_watermark", (r,)]),))]
            case "shrink_isr" as name, (r,):
                return [Call("shrink_to_elr" if self._is_in_elr(after, r) else name, (r,))]
            case (("elect" | "elect_eligible") as name, (r,)):
                return [Call(name, (r, as_int(after["leader_epoch", ()])))]
            case "expire" as name, (r,):
                return [Call(name, (r, as_int(after["log.log_start", (r,)])))]
            case "delete_records" as name, (_, to):
                return [Call(name, (to,))]
            case "answer_delete_records" as name, (_,):
                return [Call(name)]
            case "compact" as name, (r, x):
                return [Call(name, (r, x, self._later(step.before, r, x)))]
            case (("make_follower" | "fetch") as name, (r,)):
                return [Call(name, (r, as_int(after["log.end_offset", (r,)])))]
            case (("expand_isr" | "truncate_fully") as name, (r,)):
                return [Call(name, (r,))]
            case name, _:
                raise ValueError(f"{name} has no abstract action")

    def _later(self, before: State, r: int, x: int) -> int:
        """Returns the offset of the first record after offset `x` in the replica's log that has the
        same key as the record at `x`.
        """
        key = before["log.record.key", (r, x)]
        later = range(x + 1, as_int(before["log.end_offset", (r,)]))
        return min(y for y in later if before["log.record.key", (r, y)] == key)

    def _is_in_elr(self, state: State, r: int) -> bool:
        return bool(state.get(("elr", (r,)), False))

    # ---- the comparison

    def compared(self, detailed: State, abstract: State) -> Iterator[Difference]:
        for name in OF_PARTITION:
            yield name, detailed[name, ()], abstract[name, ()]
        for x in range(as_int(detailed["true_high_watermark", ()])):
            epoch = as_int(abstract["committed", (x,)])
            yield (
                f"committed key {x}",
                detailed["committed", (x,)],
                abstract["written_key", (epoch, x)],
            )
        for r in self._replicas:
            yield f"b{r} in the ISR", detailed["isr", (r,)], abstract["isr", (r,)]
            yield f"b{r} in the ELR", self._is_in_elr(detailed, r), abstract["elr", (r,)]
            yield f"epoch of b{r}", detailed["epoch", (r,)], abstract["epoch", (r,)]
            yield from self._of_log(detailed, abstract, r)

    def _of_log(self, detailed: State, abstract: State, r: int) -> Iterator[Difference]:
        for name in OF_LOG:
            at = f"log.{name}", (r,)
            yield f"{name} of b{r}", detailed[at], abstract[at]
        start, end = (as_int(detailed[f"log.{name}", (r,)]) for name in ("log_start", "end_offset"))
        for x in range(start, end):
            epoch = as_int(abstract["log.leader_epoch", (r, x)])
            is_compacted = abstract["log.is_compacted", (r, x)]
            key = None if is_compacted else abstract["written_key", (epoch, x)]
            yield f"epoch of {x} at b{r}", detailed["log.record.leader_epoch", (r, x)], epoch
            yield f"key of {x} at b{r}", detailed["log.record.key", (r, x)], key
