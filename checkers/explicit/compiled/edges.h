/* The transitions between the states, written while states are expanded in one thread, for liveness.

   The transitions of state v have the numbers offsets[v] to offsets[v + 1], in the order of the actions
   and their parameters. Transitions from a state to itself are left out, because every state may
   stutter. The label of a transition is its action with the values of its parameters, as a number below
   INSTANCES. Labels are written when letters are posted, and targets when the letters are taken in, in
   the same order. */

enum { OFFSETS, TARGETS, LABELS };

/* Makes room for the transitions of a block; returns false if there is none. */
static int has_edges(Edges *e, uint64_t *failed, uint64_t more) {
  if (e->edges + more >= UINT32_MAX) *failed = TOO_MANY;
  if (e->states + BLOCK >= e->state_room && !*failed) {
    uint64_t room = (e->states + BLOCK) * 5 / 4 + 4096;
    e->offsets = grown_in(failed, e->files[OFFSETS], e->offsets, room * sizeof *e->offsets);
    if (!*failed) e->state_room = room;
  }
  if (e->edges + more > e->edge_room && !*failed) {
    uint64_t room = (e->edges + more) * 5 / 4 + 4096;
    e->targets = grown_in(failed, e->files[TARGETS], e->targets, room * sizeof *e->targets);
    if (!*failed) e->labels = grown_in(failed, e->files[LABELS], e->labels, room * sizeof *e->labels);
    if (!*failed) e->edge_room = room;
  }
  return !*failed;
}

INLINE void keep_offset(Edges *e) { e->offsets[e->states++] = e->edges; }
INLINE void keep_label(Edges *e, Label label) { e->labels[e->edges++] = label; }
INLINE void keep_target(Edges *e, uint32_t state) { e->targets[e->found++] = state; }

static void forget_edges(Edges *e) {
  dropped(e->offsets), dropped(e->targets), dropped(e->labels);
  *e = (Edges){.files = {MEMORY, MEMORY, MEMORY}};
}
