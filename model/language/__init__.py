"""The spec language: one typed grammar, which every engine reads.

A spec is a class. Its annotations declare the state and the constants, and its methods declare the
initial states, the actions and the properties. Tracing runs each method once, on symbols instead of
values. After tracing, a spec is data (`spec.py`). A slow interpreter (`interpreter.py`) defines the
meaning of each construct, and tests compare every engine (explorer or prover) with the interpreter.

In each line of the following table, the construct stands on the left, and its meaning on the right.
*Not provable* marks a construct that exploration supports and proofs do not support.

sorts       class Replica(Sort)         elements without an order: only == and !=
            class LeaderEpoch(Ordered)  ordered, with a least element: < <= is_next_after least()
            class Offset(Int)           integers of a range: + 1, - 1, Offset(0); not provable
            labels = ("EMPTY", "OPEN")  names of an Int's values 0, 1, ... in the output
            Bool, Replica | Nothing     formulas; a value that may be absent
constants   replicas: int = 3           or Annotated[int, range(1, 10)]; read as Python values
state       Map[K, V], Set[K], Record   total functions; a set maps to Bool; records group fields
            scope(s)                    finite sizes of the sorts
            init(s, r: Replica)         assigns an initial state for each value of its parameters; a
                                        cell without an assignment has the least value of its sort
reading     s.log[r].end_offset         always the state before the action
values      literals, true, false, nothing, least(), x + 1, ite(c, a, b), least_of(a, b),
            greatest_of(a, b)
formulas    == != < <= & | ~            & and | bind tighter than ==: write all_of, any_of
            all_of any_of implies iff   evaluated from left to right
            forall(p(r) for r in Replica)  exists(...); `for r in s.isr` ranges over a set
            count(p(r) for r in Replica)   how many; not provable
            majority(p(r) for r in Replica)  true for more than half of the elements
            first(Offset, p, default=x)    the least offset o with p(o), otherwise x; last(...) is
                                        the greatest; not provable
sets        isr - {r}, isr | {r}, isr == {r}, everything(Replica)
actions     @action, when(a, b, c)      enabled if a, b and c are true; reports name the first
                                        false one; parameters range over their sorts
            @action(fair="weak")        eventually taken if it stays enabled
            @action(fair="strong")      eventually taken if it is enabled infinitely often;
                                        fairness holds for each choice of parameters
updates     s.log[r].end_offset = e     records, maps and sets too; all writes happen together
            for y in Transaction: s.pending[y][t] = ...    assigns the cells of all y; with
                                        `for y in s.begun`, the cells of the set's members
claims      @invariant  @lemma          true in every reachable state; a lemma helps to prove it
            @witness                    true in some reachable state
            @action_property            def p(s, after: Self): true of every step that changes the
                                        state: forall(s.epoch[r] <= after.epoch[r] for r in Replica)
            @liveness                   def p(s, x: Sort): for each x, true of every fair behaviour
              leads_to(p, q)            whenever p, then q at once or later; eventually(q);
                                        always_eventually(q), infinitely often; eventually_always(q)
variants    a subclass that replaces a method

Four rules:
- A read always returns the value before the action, so an action must read a variable before it
  assigns the variable. A Python name for a record or a map is a view: each use of the name is a
  read.
- If an action writes a cell twice, the later write wins. If a `for` ranges over a set, the cells of
  all other elements keep their values.
- An integer must be in the range of its sort if it is a key, if it is assigned, or if it is a value
  of a sort with `nothing` (`Offset | Nothing`). If it is out of range, exploration reports an error
  of the spec, which names the action, the line and the conjunct.
- Python's `and`, `or`, `not`, `if` and `a < b < c` need a truth value, which a term does not have.

A construct is added to the language only when a spec of Kafka needs it. Every engine then
implements the new construct, and a test checks that the engines agree.
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
    false,
    greatest_of,
    iff,
    implies,
    least_of,
    nothing,
    true,
)
from model.language.quantifiers import (
    at_least,
    count,
    exists,
    first,
    forall,
    last,
    majority,
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
    "at_least", "count", "eventually", "eventually_always", "everything", "exists", "false",
    "first", "forall", "greatest_of", "iff", "implies", "invariant", "ite", "last", "leads_to",
    "least_of", "lemma", "liveness", "majority", "nothing", "true", "when", "witness",
]  # fmt: skip
