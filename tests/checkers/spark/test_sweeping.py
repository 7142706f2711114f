"""A sweep whose seeds are tested in Spark tasks has the same verdicts as in one process."""

from __future__ import annotations

from dataclasses import replace

from checkers.spark.sweeping import judged_on_spark
from checkers.sweeping import Swept, judge
from reference_impl.node.bugs import bugs_named


def test_spark_tasks_have_the_verdicts_of_one_process() -> None:
    swept = Swept(sweep="publish", bugs=bugs_named("no-dedup"))
    seeds = range(5, 22)  # three tasks
    judged = sorted(judged_on_spark(swept, seeds, "local[2]"), key=lambda it: it.seed)
    assert [it.seed for it in judged] == [*seeds]
    assert any(it.occurs for it in judged)
    for it in judged[:4]:
        assert replace(it, cpu_s=0.0) == replace(judge(swept, it.seed), cpu_s=0.0)
