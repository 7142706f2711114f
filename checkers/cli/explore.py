"""`urteil explore`: a local web page to walk through the states of a spec."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checkers.cli import completion, selection
from checkers.cli.command import command
from checkers.cli.run import Run
from checkers.events import ExplorerReady, StateShown
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.explore.requests import Answer, Explorer


@click.command("explore")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=completion.constants,
    help="Set a constant of the spec, such as replicas=3; repeatable.",
)
@click.option(
    "--variant",
    shell_complete=completion.variants,
    help="A version or bug of the spec: see urteil list versions, urteil list bugs.",
)
@click.option(
    "--scope",
    metavar="SORT=N,...",
    help="Elements of the spec's sorts, such as Offset=185; links to recorded traces have them.",
)
@click.option(
    "--path",
    metavar="'ACTION(...); ...'",
    help="Begin after these actions, such as 'leader_write(b0); follower_replicate(b1, b0)'.",
)
@click.option(
    "--compare",
    metavar="VARIANT",
    shell_complete=completion.variants,
    help="Also take each step in this variant, and show where the two differ.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    help="Port on 127.0.0.1; 0: any free one.",
)
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
@click.option(
    "--print",
    "prints",
    is_flag=True,
    help="Print the state after --path and end; -v adds the disabled actions.",
)
@click.argument(
    "spec", metavar="[SPEC|RUN]", default="replication", shell_complete=completion.specs
)
@command(decides=False, folder=False)
def explore_command(
    run: Run,
    spec: str,
    variant: str | None,
    assignments: Sequence[str],
    scope: str | None,
    path: str | None,
    compare: str | None,
    port: int,
    no_browser: bool,
    prints: bool,
) -> None:
    """Walk through the states of SPEC, a name or the path of a .py file, in a local web page.

    
    urteil explore replication --variant kip-101 --set replicas=2
    urteil explore replication --compare kip-101
    urteil explore replication --path 'controller_elect_leader(b0); controller_shrink_isr(b1)'
    urteil explore replication --path 'controller_elect_leader(b0)' --print -v
    urteil explore runs/2026-11-21T0142-c3f1

    The page shows the state, each enabled action with its changes, and each disabled action with
    the conjunct that is false. It steps back, searches for a state by a formula, shows a
    counterexample of each property, and compares two variants. The address of the page contains
    the path, so the address can be sent to others. The page needs no network; Ctrl-C ends the
    server.

    Instead of SPEC, name a RUN: a counterexample of urteil check (*.itf.json), the trace of a
    broker (*.trace.json), or a run folder with such files. The page opens a counterexample as a
    path, and shows the trace of a broker line by line.
    """
    explorer = _explorer(spec, variant, assignments, scope, path, compare)
    where = {**explorer.opened, "path": explorer.opened.get("path", "")}
    view = explorer.answer("walk", where)  # a mistake in the path ends the command
    lines = (explorer.opened.get("lines") or {}).get("lines", [])
    view["refused"] = lines[-1] if lines and "why" in lines[-1] else None
    for text in explorer.opened.get("notes", ()):
        run.note(text)
    if prints:
        from checkers.explore.printed import printed

        run.emit(StateShown(text=printed(view, verbose=run.verbose), view=view))
        return
    _serve(run, explorer, port, opens=not no_browser)


def _explorer(
    spec: str,
    variant: str | None,
    assignments: Sequence[str],
    scope: str | None,
    path: str | None,
    compare: str | None,
) -> Explorer:
    from checkers.explore import traces
    from checkers.explore.requests import Explorer, where

    if traces.is_recorded(spec):
        if path is not None or assignments or scope is not None:
            raise InputFault(f"{spec}: a recorded trace has its own path, constants and scope")
        files = traces.files(Path(spec))
        opened: Answer = {**where(traces.opened(files[0], variant)), "compare": compare}
        return Explorer(opened=opened, traces=tuple(files))
    chosen, made = selection.selected(spec, variant, assignments)
    opened = {
        "spec": chosen.spec,
        "variant": chosen.name,
        "constants": selection.constants(made),
        "scope": scope or "",
        "path": path or "",
        "compare": compare,
    }
    return Explorer(opened=opened)


def _serve(run: Run, explorer: Explorer, port: int, *, opens: bool) -> None:
    from checkers.explore.server import Server

    with Server(explorer, port) as server:
        link = server.link(explorer.opened)
        run.emit(ExplorerReady(url=server.url, link=link))
        if opens and _has_browser():
            _open(link)
        run.note("Ctrl-C ends the server")
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            pass  # the way to end it
        finally:
            explorer.stop()


def _has_browser() -> bool:
    # Without a display, Python would start a browser in this terminal.
    has_display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return sys.stdout.isatty() and bool(sys.platform in ("darwin", "win32") or has_display)


def _open(link: str) -> None:
    import threading
    import webbrowser

    def opening() -> None:
        webbrowser.open(link)

    threading.Thread(target=opening, daemon=True).start()
