"""The spec language: one typed grammar, read by every engine. This page is it.

A spec is a class. Its annotations declare the state and the constants, its methods the rest; they
are run once, on symbols, and from then on a spec is data (`spec.py`). What a word means is said
once, by a slow interpreter (`interpreter.py`); every engine is tested against it.

sorts       class Replica(Sort)         elements that can only be told apart
            class LeaderEpoch(Ordered)  a total order with a least: < <= is_next_after least()
            class Offset(Int)           integers of a range: + 1, - 1, Offset(0); explored only
            labels = ("EMPTY", "OPEN")  in an Int, to print 0, 1, ... by
            Bool, Replica | Nothing     formulas; a value that may be absent
constants   replicas: int = 3           or Annotated[int, range(1, 10)]; read as Python values
state       Map[K, V], Set[K], Record   total functions; a set maps to Bool; records group parts
            scope(s), init(s, any: Sort)  finite sizes; what init leaves out is at its least
reading     s.log[r].end_offset         always the state before the action
values      literals, true, false, nothing, least(), x + 1, ite(c, a, b), least_of(a, b)
formulas    == != < <= & | ~            & and | bind tighter than ==: write all_of, any_of
            all_of any_of implies iff   evaluated from left to right
            forall(p(r) for r in Replica)  exists(...); `for r in s.isr` ranges over a set
            count(...), first(Offset, test, default=), last(...)    explored only
sets        isr - {r}, isr | {r}, isr == {r}, everything(Replica)
actions     @action, when(a, b, c)      parameters range over their sorts; each conjunct is kept
            @action(fair="weak")        taken in the end while it stays enabled; "strong": if it is
                                        enabled again and again; for each choice of parameters
updates     s.log[r].end_offset = e     records, maps and sets too; all writes happen together
            for y in Transaction: s.pending[y][t] = ...    every cell at once; `for y in s.begun`
claims      @invariant  @lemma          true in every reachable state; a lemma helps to prove it
            @witness                    true in some reachable state
            @action_property            def p(s, after: Self): true of every step that changes the
                                        state: forall(s.epoch[r] <= after.epoch[r] for r in Replica)
            @liveness                   def p(s, x: Sort): for each x, of every fair behaviour
              leads_to(p, q)            whenever p, then q in the end; eventually(q) from the start;
                                        always_eventually(q) again and again; eventually_always(q)
variants    a subclass that replaces a method

Four rules:
- A variable is read before it is assigned, through views too: reading means the state before.
- Of two writes to one cell the later stays; a cell that a bounded `for` leaves out keeps what it
  had.
- An integer that is kept (as a key, assigned, beside `nothing`) is in its sort: else the spec is
  ill-defined there, which exploration reports by action, line and conjunct.
- Python's `and`, `or`, `not`, `if`, `a < b < c` ask for a truth value that a term has not.

A word enters when an action of Kafka needs it, with a meaning in every reader and a test that they
agree.
"""

from model.language.expressions import (
    Bool,
    Int,
    Nothing,
    Ordered,
    Sort,
    SpecError,
    all_of,
    any_of,
    count,
    exists,
    false,
    first,
    forall,
    iff,
    implies,
    last,
    least_of,
    nothing,
    true,
)
from model.language.scope import Scope
from model.language.spec import (
    Spec,
    action,
    action_property,
    invariant,
    lemma,
    liveness,
    witness,
)
from model.language.state_variables import Map, Record, Set, everything, ite
from model.language.temporal import (
    Temporal,
    always_eventually,
    eventually,
    eventually_always,
    leads_to,
)
from model.language.tracing import when

__all__ = [
    "Bool", "Int", "Map", "Nothing", "Ordered", "Record", "Scope", "Set", "Sort", "Spec",
    "SpecError", "Temporal", "action", "action_property", "all_of", "always_eventually", "any_of",
    "count", "eventually", "eventually_always", "everything", "exists", "false", "first", "forall",
    "iff", "implies", "invariant", "ite", "last", "leads_to", "least_of", "lemma", "liveness",
    "nothing", "true", "when", "witness",
]  # fmt: skip
