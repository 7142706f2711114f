"""The command line: `urteil COMMAND`. Nothing heavy is imported before the command is known."""

from __future__ import annotations

import importlib
import io
import sys
import traceback
from typing import Final

import click

from checkers.cli import configuration
from checkers.cli.run import A_BUG, in_one_line
from checkers.verdicts import EXIT_CODES, HOLDS, INTERRUPTED, OUR_OWN_BUG, UNUSABLE_INPUT
from model.faults import InputFault, UnknownName

# command -> what it does; the command is the function `<name>_command` of checkers.cli.<name>
COMMANDS: Final = {
    "verify": "The main job: model, proofs, broker, recording, analysis; one report.",
    "check": "Explore a spec: every reachable state, shortest counterexamples.",
    "prove": "Prove a spec for any number of everything.",
    "test": "Run a Hypothesis property suite against the reference broker.",
    "sweep": "Simulate the reference broker from many seeds, and analyze every history.",
    "broker": "Serve the reference broker over TCP.",
    "record": "Run a workload through real clients and write its history.",
    "analyze": "Decide the anomalies of a history, on Spark.",
    "report": "Write the report of a run again.",
    "export": "Write a spec for another model checker: TLA+ for TLC.",
    "replay": "Take the steps of a counterexample again, on this or another variant.",
    "list": "List versions, bugs, properties, claims, suites, sweeps, specs, anomalies.",
    "explain": "Explain one of them.",
    "doctor": "Show what Urteil runs on, and what is missing.",
}

EPILOG: Final = "\b\nExit codes:\n" + "\n".join(
    f"  {k:<4} {says}" for k, says in EXIT_CODES.items()
)


def load(name: str) -> click.Command:
    """The command of this name; its help ends with the exit codes too."""
    module = importlib.import_module(f"checkers.cli.{name}")
    found: click.Command = getattr(module, f"{name}_command")
    found.epilog = EPILOG
    return found


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports the one that is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            raise UnknownName("command", cmd_name, COMMANDS)
        given = configuration.defaults(cmd_name, COMMANDS, load)
        ctx.default_map = {**(ctx.default_map or {}), cmd_name: given}
        return load(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="urteil")
def urteil() -> None:
    """A verdict on the guarantees of Kafka, and of anything that speaks its protocol.

    \b
    Three commands to begin with:
      urteil check replication --variant truncate-to-hw    a bug that shipped, in eight steps
      urteil prove transactions-abstract                   KIP-890, for any number of everything
      urteil verify                                        all of it, in minutes
    """


def main() -> None:
    """Runs the command line; what the user got wrong is one line on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # ✗ is ? where the terminal's encoding has none
    try:
        sys.exit(urteil.main(prog_name="urteil", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as first_screen:
        click.echo(first_screen.format_message())
        sys.exit(HOLDS)
    except click.ClickException as fault:
        context = getattr(fault, "ctx", None)
        place = context.command_path if context is not None else "urteil"
        click.echo(f"{place}: {fault.format_message()} (see {place} --help)", err=True)
    except InputFault as fault:
        click.echo(f"urteil: {in_one_line(fault)}", err=True)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except Exception:  # the boundary, before a run and after it
        click.echo(f"{traceback.format_exc()}urteil: {A_BUG}", err=True)
        sys.exit(OUR_OWN_BUG)
    sys.exit(UNUSABLE_INPUT)
