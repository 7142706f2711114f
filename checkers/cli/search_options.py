"""The options of a state search: which engine searches, which data it stores, and which counts it
reports.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from checkers.cli import completion, selection
from model.faults import InputFault, UnknownName

if TYPE_CHECKING:
    from checkers.explicit.exploration import EngineName

SPARK: Final = "spark"
NOT_ON_SPARK: Final = {  # an option of the search -> why --engine spark does not have it
    "fingerprints": "it stores whole states",
    "memory": "it stores states on the disks of Spark's executors",
    "threads": "the master has the number of cores",
    "coverage": "it does not count the conditions that disable actions",
    "symmetry": "it does not merge states",
}

_OPTIONS: Final = (
    click.option(
        "--engine",
        metavar="compiled|numpy|python|spark",
        shell_complete=completion.engines,
        help="Explorer: generated C, NumPy, plain Python, or C on Spark, for more states than one"
        " machine holds. Default: C, or Python if few states.",
    ),
    click.option(
        "--master",
        help="Spark master for --engine spark, such as spark://HOST:PORT. Default: all cores of"
        " this machine.",
    ),
    click.option(
        "--fingerprints",
        is_flag=True,
        help="Store a 64-bit hash of each state instead of the state: less memory, tiny risk.",
    ),
    click.option(
        "--memory",
        metavar="4GB|500MB",
        help="Memory for states; further states go to a temporary folder. Liveness needs all states"
        " in memory, by default at most 4 GB; transitions may go to the folder.",
    ),
    click.option(
        "--threads",
        type=click.IntRange(1, 16),
        default=1,
        show_default=True,
        help="Threads of the explorer; 2 or more for large state spaces.",
    ),
    click.option(
        "--coverage",
        is_flag=True,
        help="Count how often each action was taken and which condition disabled it.",
    ),
    click.option(
        "--symmetry",
        is_flag=True,
        help="Merge states that are equal up to a renaming of replicas or the like; not for"
        " liveness.",
    ),
    click.option(
        "--checkpoint",
        type=click.FloatRange(0, min_open=True),
        metavar="MINUTES",
        help="Write the search to the run folder at most so often, and when it is interrupted or"
        " its budget is spent: 5 to 10 bytes a state.",
    ),
    click.option(
        "--resume",
        metavar="RUN",
        shell_complete=completion.runs,
        help="Go on from the checkpoint of a run with the same options: a run folder, an id, or"
        " last.",
    ),
)


def search_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The options of a state search. `checkers.explicit.search.explore` explains most of them.

    `master` is the address of the Spark master, for the engine `spark`. `checkpoint` is the
    smallest number of minutes between two checkpoints of the search. `resume` names an earlier run
    whose checkpoint the search continues.
    """

    engine: EngineName | Literal["spark"] | None = None
    master: str | None = None
    fingerprints: bool = False
    memory: int | None = None
    threads: int = 1
    coverage: bool = False
    symmetry: bool = False
    checkpoint: float | None = None
    resume: str | None = None

    @classmethod
    def of(cls, *, memory: str | None, **options: Any) -> SearchOptions:
        """Returns the options of a search from the options of a command. Raises InputFault if they
        contradict each other.
        """
        from checkers.explicit.engines import ENGINES

        search = cls(memory=selection.memory(memory), **options)
        if search.engine is not None and search.engine not in (SPARK, *ENGINES):
            raise UnknownName("engine", search.engine, [*ENGINES, SPARK])
        search._require_checkpoints()
        if search.engine == SPARK:
            search._require_spark()
        elif search.master is not None:
            raise InputFault(f"--master {search.master}: only Spark has one; add --engine spark")
        return search

    @property
    def checkpoint_option(self) -> str | None:
        """The command-line option with which the search writes or reads checkpoints, such as
        `--checkpoint 5`. None if the user has not set such an option.
        """
        if self.resume is not None:
            return f"--resume {self.resume}"
        return None if self.checkpoint is None else f"--checkpoint {self.checkpoint:g}"

    def _require_checkpoints(self) -> None:
        option = self.checkpoint_option
        if option is not None and self.engine not in (None, "compiled"):
            raise InputFault(
                f"--engine {self.engine} {option}: only the engine compiled has checkpoints; "
                "leave out one of the two"
            )
        if option is not None and self.symmetry:
            raise InputFault(
                f"--symmetry {option}: a search with symmetry has no checkpoints; "
                "leave out one of the two"
            )

    def _require_spark(self) -> None:
        default = SearchOptions()
        for option, reason in NOT_ON_SPARK.items():
            if getattr(self, option) != getattr(default, option):
                raise InputFault(f"--engine spark --{option}: {reason}; leave out --{option}")
        if self.master is not None and self.master.startswith("sc://"):
            raise InputFault(
                f"--engine spark --master {self.master}: Spark Connect has no RDDs; "
                "use a local or spark:// master"
            )
