"""Completes names in a shell. For an option or an argument, it offers the names that the option or
argument accepts.

No function of this module imports an engine, a suite or a client library, because the names must
appear while the user types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _completer(names: Callable[[click.Context], Iterable[str]]) -> Completer:
    def complete(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        del parameter
        found = sorted({name for name in names(context) if name.startswith(incomplete)})
        return [CompletionItem(name) for name in found]

    return complete


def _specs(context: click.Context) -> Iterable[str]:
    from model.specs import SPECS

    del context
    return SPECS


def _variants(context: click.Context) -> Iterable[str]:
    from model.specs import all_variants

    spec: Any = context.params.get("spec")
    if spec is None:
        parameters = (one for one in context.command.params if one.name == "spec")
        spec = next((one.get_default(context) for one in parameters), None)
    return [row.name for row in all_variants() if spec in (None, row.spec)]


def _releases(context: click.Context) -> Iterable[str]:
    from model.releases import NEWEST_PATCH

    del context
    return NEWEST_PATCH


def _properties(context: click.Context) -> Iterable[str]:
    from model.specs import SPECS, find

    spec: Any = context.params.get("spec")
    if spec not in SPECS:
        return []
    return [claim.name for claim in find(spec, context.params.get("variant")).make().properties]


def _constants(context: click.Context) -> Iterable[str]:
    from model.specs import SPECS, find

    spec: Any = context.params.get("spec")
    if spec not in SPECS:
        return []
    made = find(spec, context.params.get("variant")).make()
    return [f"{name}=" for name in made.constants]


def _engines(context: click.Context) -> Iterable[str]:
    from checkers.explicit.engines import ENGINES

    del context
    return [*ENGINES, "spark"]


def _families(context: click.Context) -> Iterable[str]:
    from checkers.conform.families import FAMILIES

    del context
    return FAMILIES


def _reproductions(context: click.Context) -> Iterable[str]:
    from checkers.reproduce.catalogue import REPRODUCTIONS

    del context
    return REPRODUCTIONS


def _bugs(context: click.Context) -> Iterable[str]:
    from reference_impl.node.seeded_bugs import SEEDED_BUGS

    del context
    return [row.name for row in SEEDED_BUGS]


def _suites(context: click.Context) -> Iterable[str]:
    from checkers.cli.catalogue import suite_names

    del context
    return suite_names()


def _sweeps(context: click.Context) -> Iterable[str]:
    from reference_impl.simulation.sweeps import SWEEPS

    del context
    return SWEEPS


def _systems(context: click.Context) -> Iterable[str]:
    from checkers.systems.opening import APACHE_KAFKA, PEERS, SERVED

    del context
    return [SERVED, APACHE_KAFKA, *PEERS]


def _profiles(context: click.Context) -> Iterable[str]:
    from properties.suites.search.profiles import PROFILES

    del context
    return PROFILES


def _anomalies(context: click.Context) -> Iterable[str]:
    from properties.anomalies.catalogue import EVERY

    if not context.params.get("log_dirs"):
        return [row.id for row in EVERY]
    from properties.log_audit.catalogue import CHECKS

    return [row.id for row in CHECKS]


def _kinds(context: click.Context) -> Iterable[str]:
    from checkers.cli.catalogue import KINDS

    del context
    return KINDS


def _explained(context: click.Context) -> Iterable[str]:
    from model.specs import all_variants
    from properties.claims.catalogue import CLAIMS
    from properties.log_audit.catalogue import CHECKS

    return [
        *_specs(context),
        *(row.name for row in all_variants()),
        *_bugs(context),
        *(claim.id for claim in CLAIMS),
        *_suites(context),
        *_anomalies(context),
        *(check.id for check in CHECKS),
    ]


def _decided_names(context: click.Context) -> Iterable[str]:
    from model.specs import all_variants
    from properties.claims.catalogue import CLAIMS

    breaks = (row.breaks for row in all_variants())
    return [*(claim.id for claim in CLAIMS), *_anomalies(context), *filter(None, breaks)]


def _verdict_words(context: click.Context) -> Iterable[str]:
    from checkers.verdicts import LISTED_AS

    del context
    return LISTED_AS


def _runs(context: click.Context) -> Iterable[str]:
    from pathlib import Path

    # The names of the folders: to open the store takes longer.
    parent = Path(context.params.get("out") or "runs")
    folders = [one.parent.name for one in parent.glob("*/run.json")]
    return ["last", "last~1", *folders]


specs = _completer(_specs)
variants = _completer(_variants)
releases = _completer(_releases)
properties = _completer(_properties)
constants = _completer(_constants)
engines = _completer(_engines)
families = _completer(_families)
bugs = _completer(_bugs)
suites = _completer(_suites)
sweeps = _completer(_sweeps)
profiles = _completer(_profiles)
systems = _completer(_systems)
anomalies = _completer(_anomalies)
kinds = _completer(_kinds)
reproductions = _completer(_reproductions)
explained = _completer(_explained)
decided_names = _completer(_decided_names)
verdict_words = _completer(_verdict_words)
runs = _completer(_runs)
