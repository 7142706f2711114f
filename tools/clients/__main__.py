"""Runs the scenarios of real clients against `urteil broker`, and writes docs/clients.md.

    python -m tools.clients                            all clients, all scenarios
    python -m tools.clients --only franz-go --scenario records --log
    python -m tools.clients --page                     only the page, from the recorded results

Results go to benchmarks/results/clients.json, and replace older ones of the same client and
scenario. Exits with 1 if a scenario failed without an entry in reasons.py, and with 2 if a client
cannot be installed.
"""

from __future__ import annotations

import argparse
import sys
import time

from checkers.testing.broker import Broker
from model.faults import InputFault
from tools.clients import installed, scenarios
from tools.clients.page import PAGE, page
from tools.clients.reasons import REASONS
from tools.clients.results import Row, kept, save
from tools.clients.trial import try_scenario


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
    parser.add_argument("--page", action="store_true", help="write only the page")
    options = parser.parse_args()
    is_green = options.page or run(options)
    PAGE.write_text(page(kept()), encoding="utf-8")
    sys.exit(0 if is_green else 1)


def run(options: argparse.Namespace) -> bool:
    """Tries the selected scenarios and saves the results.

    Returns True if each failure has an entry in reasons.py.
    """
    names = options.only or list(installed.BY_NAME)
    is_green = True
    for name in names:
        client = installed.BY_NAME[name]
        try:
            program = client.install()
        except InputFault as fault:
            say(str(fault))
            sys.exit(2)
        row = Row.of(kept(), client, program)
        with Broker() as broker:
            for scenario in scenarios.SCENARIOS:
                if options.scenario and scenario.name not in options.scenario:
                    continue
                started = time.monotonic()
                topic = f"{scenario.name}-{time.time_ns() % 1_000_000}"
                cell, said = try_scenario(broker, program, scenario, topic, options.records)
                row = row.with_cell(scenario.name, cell)
                spent = time.monotonic() - started
                say(f"{name:20} {scenario.name:34} {cell.outcome:12} {spent:5.1f} s  {cell.note}")
                if cell.outcome == "failed":
                    is_green = is_green and (name, scenario.name) in REASONS
                    if options.log:
                        say(said, broker.log)
        save(row)
    return is_green


def say(*texts: str) -> None:
    sys.stdout.write(" ".join(texts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
