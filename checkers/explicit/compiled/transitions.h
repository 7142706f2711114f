/* The transitions between the states of a finished search of one shard, for liveness.

   The states are expanded a second time, and each successor is looked up in the hash set. The
   numbers of transitions are ascending by their source. Transitions from a state to itself are left
   out, because every state may stutter. The label of a transition is its action with the values of
   its parameters, as a number below INSTANCES. */

typedef struct { uint64_t hash; uint32_t birth; } Wanted; /* a successor to look up */

/* Moves back to the first state. */
void transitions_begin(Search *all) {
  Shard *w = all->shard;
  w->level = w->judged = w->expanded = 0;
  w->end = w->count;
}

/* Looks up the successors of a block, whose buckets and keys are prefetched. */
static void look_up(const Shard *w, const Wanted *wanted, uint32_t count, uint32_t *targets) {
  for (uint32_t n = 0; n < count; n++) {
    uint64_t prefix = prefix_of(wanted[n].hash);
    const Bucket *b = w->buckets + home_of(w, prefix);
    uint32_t may = slots_of(b, tag_of(prefix));
    if (may) look_at_key(w, b->index[__builtin_ctz(may)]);
  }
  for (uint32_t n = 0; n < count; n++) {
    Letter letter = {w->born[wanted[n].birth].state, wanted[n].hash, 0};
    targets[n] = index_of(w, &letter);
  }
}

/* Writes the transitions of the next states, at most `quota`; returns the number of states left.
   `offsets` has the number of the first transition of each state. */
uint64_t transitions_write(
    Search *all, uint64_t quota, uint32_t *offsets, uint32_t *targets, Label *labels) {
  Shard *w = all->shard;
  Wanted *wanted = malloc(BLOCK * (INSTANCES + 1) * sizeof *wanted);
  uint64_t edge = w->expanded ? offsets[w->expanded] : 0;
  if (!wanted) w->found.failed = NO_MEMORY;
  while (quota && w->expanded < w->end && !w->found.failed) {
    Bits some = read_block(w, w, w->expanded, quota);
    uint32_t count = 0;
    w->births = 0;
    memset(w->first, 0, sizeof w->first);
    successors(w, some);
    FOR_EACH(k, some) {
      offsets[w->expanded++] = edge + count;
      for (uint32_t birth = w->first[k]; birth; birth = w->born[birth].next) {
        const Born *born = w->born + birth;
        if (equal(w->packed + k, &born->state)) continue;
        uint64_t h = hash(&born->state);
        look_ahead(w, h);
        labels[edge + count] = born->instance;
        wanted[count++] = (Wanted){h, birth};
      }
    }
    look_up(w, wanted, count, targets + edge);
    edge += count;
    offsets[w->expanded] = edge;
    quota -= __builtin_popcount(some);
  }
  free(wanted);
  return w->end - w->expanded;
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
