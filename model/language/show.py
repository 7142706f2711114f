"""Terms as text, in the notation of the specs themselves."""

from __future__ import annotations

from typing import assert_never

from model.language.terms import (
    And, Const, Count, Eq, Exists, Extreme, Forall, Get, Implies, Ite, Le, Least, Local, Lt, Node, Not, Or, Plus, Some, Succ, Write,
)  # fmt: skip


def place(name: str, keys: tuple[str, ...]) -> str:
    """`log.record.id` applied to (leader, offset) is written `log.record.id[leader][offset]`."""
    return name + "".join(f"[{k}]" for k in keys)


def show(n: Node) -> str:
    match n:
        case Const():
            return str(bool(n.value)).lower() if n.sort.flavour == "bool" else str(n.value)
        case Least():
            return "nothing" if n.sort.optional else f"least {n.sort.name}"
        case Local():
            return n.name
        case Get():
            return place(n.variable.name, tuple(map(show, n.keys)))
        case Some():
            return show(n.of)
        case Plus():
            return f"{show(n.of)} {'+' if n.delta >= 0 else '-'} {abs(n.delta)}"
        case Ite():
            return f"({show(n.then)} if {show(n.test)} else {show(n.other)})"
        case Not(of=Eq() as e):
            return f"{show(e.left)} != {show(e.right)}"
        case Not():
            return f"~{_tight(n.of)}"
        case And():
            return " & ".join(map(_tight, n.of))
        case Or():
            return " | ".join(map(_tight, n.of))
        case Implies():
            return f"{_tight(n.left)} => {_tight(n.right)}"
        case Eq():
            return f"{show(n.left)} == {show(n.right)}"
        case Le():
            return f"{show(n.left)} <= {show(n.right)}"
        case Lt():
            return f"{show(n.left)} < {show(n.right)}"
        case Succ():
            return f"{show(n.right)} comes next after {show(n.left)}"
        case Forall() | Exists() | Count():
            bound = ", ".join(f"{b.name} in {b.sort.name}" for b in n.binders)
            return f"{type(n).__name__.lower()}({show(n.body)} for {bound})"
        case Extreme():
            return f"{'last' if n.last else 'first'}({n.binder.name} with {show(n.body)}, else {show(n.default)})"
        case _:
            assert_never(n)


def _tight(n: Node) -> str:
    return show(n) if isinstance(n, Const | Get | Local | Not | Forall | Exists) else f"({show(n)})"


def show_write(w: Write) -> str:
    loops = "".join(f"for {b.name} in {b.sort.name}: " for b in w.binders)
    when = "" if isinstance(w.condition, Const) else f"  where {show(w.condition)}"
    return f"{loops}{place(w.variable.name, tuple(map(show, w.keys)))} = {show(w.value)}{when}"
