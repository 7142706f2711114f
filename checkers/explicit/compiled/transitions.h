/* The graph of a search in one thread, for liveness: its transitions, and formulas in its states. */

/* Keeps the transitions of the states that are expanded from now on. */
void transitions_keep(Search *all) {
  forget_edges(&all->edges);
  all->edges.kept = 1;
}

/* Keeps no transitions any more, and frees them. */
void transitions_drop(Search *all) { forget_edges(&all->edges); }

uint64_t transitions_count(const Search *all) { return all->edges.edges; }

/* Moves the transitions to three files. */
void transitions_move(Search *all, int offsets, int targets, int labels) {
  Edges *e = &all->edges;
  uint64_t *failed = all->store.failed;
  int files[] = {offsets, targets, labels};
  memcpy(e->files, files, sizeof files);
  if (!e->offsets) return;
  uint64_t whole = sizeof(uint32_t), part = sizeof(Label);
  e->offsets = moved(failed, offsets, e->offsets, e->states * whole, e->state_room * whole);
  e->targets = moved(failed, targets, e->targets, e->found * whole, e->edge_room * whole);
  e->labels = moved(failed, labels, e->labels, e->edges * part, e->edge_room * part);
}

/* Returns the offsets, the targets or the labels of a finished search; NULL if there is no memory. */
const void *transitions_array(Search *all, uint64_t which) {
  Edges *e = &all->edges;
  if (!has_edges(e, all->store.failed, 0)) return NULL;
  e->offsets[e->states] = e->edges;
  const void *arrays[] = {e->offsets, e->targets, e->labels};
  return arrays[which];
}

/* Moves back to the first state. */
void transitions_begin(Search *all) {
  Store *s = &all->store;
  s->level = s->judged = s->expanded = 0;
  s->end = s->count;
}

/* Marks the next states in which a formula is true, at most `quota`; returns the number of states
   left. An undefined term ends it. */
uint64_t transitions_where(
    Search *all, uint64_t quota, uint64_t formula, const int *values, uint8_t *mask) {
  Worker *w = all->worker;
  Store *s = &all->store;
  while (quota && s->judged < s->end && !w->found.undefined) {
    uint64_t end = quota < s->end - s->judged ? s->judged + quota : s->end;
    Bits some = read_block(w, s->judged, end), holds = lively[formula](w, some, values);
    FOR_EACH(k, some) mask[s->judged + k] = holds >> k & 1;
    if (w->undefined) w->found.undefined = s->judged + __builtin_ctz(w->undefined) + 1;
    s->judged += __builtin_popcount(some);
    quota -= __builtin_popcount(some);
  }
  return s->end - s->judged;
}

/* Frees the hash set, which nothing needs after the last transition. */
void transitions_forget(Search *all) {
  Set *set = &all->worker->set;
  dropped(set->buckets);
  set->buckets = NULL;
}
