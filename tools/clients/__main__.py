"""Runs the scenarios of real clients against `urteil broker`, and writes docs/clients.md.

    python -m tools.clients                            all clients, all scenarios
    python -m tools.clients --only franz-go --scenario records --log
    python -m tools.clients --examples                 only the examples of docs/how-to
    python -m tools.clients --page                     only the page, from the recorded results

The results are written to benchmarks/results/clients.json. A result replaces the earlier result of
the same client and scenario. The exit code is 1 if a scenario failed and reasons.py does not
explain the failure, and 2 if a client cannot be installed.
"""

from __future__ import annotations

import argparse
import sys
import time

from checkers.testing.broker import Broker
from model.faults import InputFault
from tools.clients import installed, scenarios
from tools.clients.examples import EXAMPLES, try_example
from tools.clients.page import PAGE, page
from tools.clients.reasons import REASONS
from tools.clients.results import Row, kept, kept_examples, save, save_example
from tools.clients.trial import Cell, try_scenario


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", action="append", choices=sorted(installed.BY_NAME), help="a client; repeatable"
    )
    parser.add_argument(
        "--scenario", action="append", choices=sorted(scenarios.BY_NAME), help="repeatable"
    )
    parser.add_argument("--records", type=int, default=10_000, help="of the scenario records")
    parser.add_argument("--log", action="store_true", help="print what failed programs wrote")
    parser.add_argument("--examples", action="store_true", help="run only the examples")
    parser.add_argument("--page", action="store_true", help="write only the page")
    options = parser.parse_args()
    try:
        is_green = options.page or all(_runs(options))
    except InputFault as fault:
        say(str(fault))
        sys.exit(2)
    PAGE.write_text(page(kept(), kept_examples()), encoding="utf-8")
    sys.exit(0 if is_green else 1)


def _runs(options: argparse.Namespace) -> list[bool]:
    is_selection = options.only or options.scenario
    names = [] if options.examples else options.only or list(installed.BY_NAME)
    outcomes = [run_client(installed.BY_NAME[name], options) for name in names]
    return [*outcomes, *([] if is_selection else [run_examples()])]


def run_client(client: installed.Client, options: argparse.Namespace) -> bool:
    """Runs the selected scenarios of a client, and saves the results.

    Returns True if reasons.py has an entry for each scenario that failed.
    """
    program = client.install()
    row = Row.of(kept(), client, program)
    is_green = True
    with Broker() as broker:
        for scenario in scenarios.SCENARIOS:
            if options.scenario and scenario.name not in options.scenario:
                continue
            started = time.monotonic()
            topic = f"{scenario.name}-{time.time_ns() % 1_000_000}"
            cell, said = try_scenario(broker, program, scenario, topic, options.records)
            row = row.with_cell(scenario.name, cell)
            report(client.name, scenario.name, cell, started)
            if cell.outcome == "failed":
                is_green = is_green and (client.name, scenario.name) in REASONS
                if options.log:
                    say(said, broker.log)
    save(row)
    return is_green


def run_examples() -> bool:
    """Runs all examples of the documentation, and saves the results. Returns True if all of them
    pass.
    """
    is_green = True
    with Broker() as broker:
        for example in EXAMPLES:
            started = time.monotonic()
            cell = try_example(broker, example)
            save_example(example.title, cell)
            report(example.client, "example", cell, started)
            is_green = is_green and cell.outcome == "passed"
    return is_green


def report(client: str, scenario: str, cell: Cell, started: float) -> None:
    spent = time.monotonic() - started
    say(f"{client:20} {scenario:34} {cell.outcome:12} {spent:5.1f} s  {cell.note}")


def say(*texts: str) -> None:
    sys.stdout.write(" ".join(texts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
