"""Actions on pipelines that assign their partition by themselves."""

from __future__ import annotations

from checkers.reproduce.actions import Do
from checkers.reproduce.assigned_pipeline import AssignedPipeline
from checkers.reproduce.stage import Stage


def start_assigned_pipeline(name: str, at: int | None = None) -> Do:
    """Returns an action that starts a pipeline, which fences all other pipelines of the partition.
    Its clients know all brokers, or only the broker `at` if `at` is not None. If the pipeline is
    already running, it only fences the other pipelines again.
    """

    def do(stage: Stage) -> None:
        if name not in stage.assigned_pipelines:
            servers = stage.servers if at is None else "{}:{}".format(*stage.cluster.address(at))
            stage.assigned_pipelines[name] = AssignedPipeline(
                servers, stage.topic.name, stage.index
            )
        stage.assigned_pipelines[name].fence_others()

    return do


def begin_at_committed(name: str) -> Do:
    """Returns an action in which a pipeline fetches the committed offset, and moves to it. It
    stores the offset in `stage.noted`.
    """

    def do(stage: Stage) -> None:
        stage.noted = f"offset {stage.assigned_pipelines[name].begin_at_committed()}"

    return do


def process(name: str) -> Do:
    """Returns an action in which a pipeline processes its next input in a transaction. It stores
    the input in `stage.noted`.
    """

    def do(stage: Stage) -> None:
        stage.noted = stage.assigned_pipelines[name].process()

    return do
