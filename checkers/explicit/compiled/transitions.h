/* The graph of a search of one shard, for liveness: its transitions, and formulas in its states. */

/* Keeps the transitions of the states that are expanded from now on. */
void transitions_keep(Search *all) {
  forget_edges(all->shard);
  all->shard->edges.kept = 1;
}

/* Keeps no transitions any more, and frees them. */
void transitions_drop(Search *all) { forget_edges(all->shard); }

uint64_t transitions_count(const Search *all) { return all->shard->edges.edges; }

/* Moves the transitions to three files. */
void transitions_move(Search *all, int offsets, int targets, int labels) {
  Shard *w = all->shard;
  Edges *e = &w->edges;
  int files[] = {offsets, targets, labels};
  memcpy(e->files, files, sizeof files);
  if (!e->offsets) return;
  uint64_t whole = sizeof(uint32_t), part = sizeof(Label);
  e->offsets = moved(w, offsets, e->offsets, e->states * whole, e->state_room * whole);
  e->targets = moved(w, targets, e->targets, e->found * whole, e->edge_room * whole);
  e->labels = moved(w, labels, e->labels, e->edges * part, e->edge_room * part);
}

/* Returns the offsets, the targets or the labels of a finished search; NULL if there is no memory. */
const void *transitions_array(Search *all, uint64_t which) {
  Edges *e = &all->shard->edges;
  if (!has_edges(all->shard, 0)) return NULL;
  e->offsets[e->states] = e->edges;
  const void *arrays[] = {e->offsets, e->targets, e->labels};
  return arrays[which];
}

/* Moves back to the first state. */
void transitions_begin(Search *all) {
  Shard *w = all->shard;
  w->level = w->judged = w->expanded = 0;
  w->end = w->count;
}

/* Marks the next states in which a formula is true, at most `quota`; returns the number of states
   left. An undefined term ends it. */
uint64_t transitions_where(
    Search *all, uint64_t quota, uint64_t formula, const int *values, uint8_t *mask) {
  Shard *w = all->shard;
  while (quota && w->judged < w->end && !w->found.undefined) {
    Bits some = read_block(w, w, w->judged, quota), holds = lively[formula](w, some, values);
    FOR_EACH(k, some) mask[w->judged + k] = holds >> k & 1;
    if (w->undefined) w->found.undefined = w->judged + __builtin_ctz(w->undefined) + 1;
    w->judged += __builtin_popcount(some);
    quota -= __builtin_popcount(some);
  }
  return w->end - w->judged;
}

/* Frees the hash set, which nothing needs after the last transition. */
void transitions_forget(Search *all) {
  Shard *w = all->shard;
  dropped(w->buckets);
  w->buckets = NULL;
}
