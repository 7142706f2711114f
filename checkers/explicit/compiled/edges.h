/* The transitions between the states of a shard, written while its states are expanded, for liveness.

   The transitions of state v have the numbers offsets[v] to offsets[v + 1], in the order of the actions
   and their parameters. Transitions from a state to itself are left out, because every state may
   stutter. The label of a transition is its action with the values of its parameters, as a number below
   INSTANCES. Labels are written when letters are posted, and targets when the letters are taken in, in
   the same order. */

enum { OFFSETS, TARGETS, LABELS };

/* Makes room for the transitions of a block; returns false if there is none. */
static int has_edges(Shard *w, uint64_t more) {
  Edges *e = &w->edges;
  if (e->edges + more >= UINT32_MAX) w->found.failed = TOO_MANY;
  if (e->states + BLOCK >= e->state_room && !w->found.failed) {
    uint64_t room = (e->states + BLOCK) * 5 / 4 + 4096;
    e->offsets = grown_in(w, e->files[OFFSETS], e->offsets, room * sizeof *e->offsets);
    if (!w->found.failed) e->state_room = room;
  }
  if (e->edges + more > e->edge_room && !w->found.failed) {
    uint64_t room = (e->edges + more) * 5 / 4 + 4096;
    e->targets = grown_in(w, e->files[TARGETS], e->targets, room * sizeof *e->targets);
    if (!w->found.failed) e->labels = grown_in(w, e->files[LABELS], e->labels, room * sizeof *e->labels);
    if (!w->found.failed) e->edge_room = room;
  }
  return !w->found.failed;
}

static inline void keep_offset(Shard *w) { w->edges.offsets[w->edges.states++] = w->edges.edges; }
static inline void keep_label(Shard *w, Label label) { w->edges.labels[w->edges.edges++] = label; }
static inline void keep_target(Shard *w, uint32_t index) { w->edges.targets[w->edges.found++] = index; }

static void forget_edges(Shard *w) {
  dropped(w->edges.offsets), dropped(w->edges.targets), dropped(w->edges.labels);
  w->edges = (Edges){.files = {MEMORY, MEMORY, MEMORY}};
}
