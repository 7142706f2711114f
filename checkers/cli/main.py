"""The command line `urteil COMMAND`."""

from __future__ import annotations

import importlib
import io
import sys
import traceback
from typing import Final

import click
from click.shell_completion import CompletionItem

from checkers.cli import configuration
from checkers.cli.command import A_BUG, in_one_line
from checkers.cli.importing import importing
from checkers.report import plain_text
from checkers.verdicts import EXIT_CODES, HOLDS, INTERRUPTED, OUR_OWN_BUG, UNUSABLE_INPUT
from model.faults import InputFault, UnknownName

# name -> what the command does; the command is the function `<name>_command` of checkers.cli.<name>
COMMANDS: Final = {
    "verify": "Run everything on the embedded reference broker: minutes, one report.",
    "check": "Explore a spec: every reachable state, shortest counterexamples.",
    "explore": "Walk through the states of a spec, in a local web page.",
    "prove": "Prove a spec for any number of replicas, offsets and transactions (Z3).",
    "test": "Run Hypothesis property suites against the reference broker.",
    "sweep": "Simulate the reference broker from many seeds and analyze each history.",
    "broker": "Serve the reference broker over TCP.",
    "record": "Run a workload through real Kafka clients and write its history.",
    "reproduce": "Show a broken promise of Apache Kafka on real brokers, with its control.",
    "conform": "Compare answers to raw requests with those of the reference broker.",
    "analyze": "Find anomalies in a history or in log directories, on Spark.",
    "convert": "Write a history as Parquet, and name what has no place in the format.",
    "trace": "Follow the TRACE logs of real brokers through a spec, step by step.",
    "report": "Write the HTML report of an earlier run again.",
    "runs": "List earlier runs and flaky verdicts, or write a page with their history.",
    "diff": "Compare two runs: violations that are new, gone or changed.",
    "baseline": "Write a run's violations as a file of known violations.",
    "export": "Write a spec as TLA+, for TLC.",
    "replay": "Repeat a recorded counterexample, also on another variant.",
    "list": "List specs, versions, bugs, properties, claims, suites, anomalies.",
    "explain": "Explain one of them by its name.",
    "doctor": "Show versions, compiler, cache and settings, and what is missing.",
}

EPILOG: Final = "\b\nExit codes:\n" + "\n".join(
    f"  {code:<4} {meaning}" for code, meaning in EXIT_CODES.items()
)


def load(name: str) -> click.Command:
    with importing():
        module = importlib.import_module(f"checkers.cli.{name}")
    found: click.Command = getattr(module, f"{name}_command")
    found.epilog = EPILOG
    return found


class LazyGroup(click.Group):
    """A group of commands that imports a command when the command runs, not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if ctx.resilient_parsing:  # shell completion: an error would be printed into the prompt
            return load(cmd_name) if cmd_name in COMMANDS else None
        if cmd_name not in COMMANDS:
            raise UnknownName("command", cmd_name, COMMANDS)
        settings = configuration.defaults(cmd_name, COMMANDS, load)
        ctx.default_map = {**(ctx.default_map or {}), cmd_name: settings}
        return load(cmd_name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        commands = [
            CompletionItem(name, help=does)
            for name, does in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


FIRST_SCREEN: Final = """\
Urteil checks the guarantees of Kafka, and of anything that speaks its protocol.

Three commands to begin with:
  urteil check replication --variant truncate-to-hw   a bug that Kafka shipped, in eight steps
  urteil analyze --demo --engine local                anomalies in a small history
  urteil verify                                       model, proofs, broker, clients: minutes

All commands: urteil --help     one command: urteil COMMAND --help     a name: urteil explain NAME
Documentation: README.md and the folder docs/ of the source; begin with docs/tutorial.md.
"""
BUG_OF_A_SPEC: Final = (
    "a bug of a spec is --variant NAME; --bug is for test, sweep, record and broker"
)


@click.group(
    cls=LazyGroup,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="urteil")
def urteil() -> None:
    """Check the guarantees of Kafka, and of anything that speaks its protocol."""


def _explained(fault: click.ClickException, context: click.Context | None) -> str:
    """Returns the text of a usage error.

    A command on specs has no option `--bug`. If the user has passed this option, the text
    recommends `--variant`.
    """
    if context is not None and isinstance(fault, click.NoSuchOption):
        options = {option for one in context.command.params for option in one.opts}
        if fault.option_name == "--bug" and "--variant" in options:
            return f"no option --bug: {BUG_OF_A_SPEC}"
    return fault.format_message()


def main() -> None:
    """Runs the command line. A usage error prints one line on stderr, and the exit code is 2."""
    plain_text.register()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=plain_text.HANDLER)
    try:
        sys.exit(urteil.main(prog_name="urteil", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as fault:
        shown = fault.ctx.parent is not None  # a command, not the group
        click.echo(fault.format_message() if shown else FIRST_SCREEN, nl=shown)
        sys.exit(HOLDS)
    except click.ClickException as fault:
        context = getattr(fault, "ctx", None)
        place = context.command_path if context is not None else "urteil"
        click.echo(f"{place}: {_explained(fault, context)} (see {place} --help)", err=True)
    except InputFault as fault:
        click.echo(f"urteil: {in_one_line(fault)}", err=True)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except Exception:  # a bug of ours, before a run or after it
        click.echo(f"{traceback.format_exc()}urteil: {A_BUG}", err=True)
        sys.exit(OUR_OWN_BUG)
    sys.exit(UNUSABLE_INPUT)
