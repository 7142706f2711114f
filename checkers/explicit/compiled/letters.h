/* Sends the successors of states as letters, each to the part of the hash set that has its hash.

   Most states are reached again soon after they were found. Such repetitions send no letter. */

INLINE Packed *recent_of(Worker *w, uint64_t h) { return w->recent + (h >> (64 - RECENT_BITS)); }

/* Initially no slot may hold a state that belongs there. So the slot of the all-zero state holds
   another state. */
static void remember_nothing(Worker *w) {
  Packed *own = recent_of(w, hash(w->recent));
  while (own == recent_of(w, hash(own))) own->word[0]++;
}

INLINE void send(Worker *w, const Packed *state, uint64_t h, uint32_t parent) {
  Outbox *box = w->out + part_of(h, w->set.parts);
  if (box->count == box->room) {
    uint64_t room = (box->room + 4096) * 2;
    box->letters = grown(&w->found.failed, box->letters, room * sizeof *box->letters);
    if (w->found.failed) return;
    box->room = room;
  }
  box->letters[box->count++] = (Letter){*state, h, parent, w->sent++};
}

INLINE void post(Worker *w, const Packed *state, uint32_t parent) {
  uint64_t h = hash(state);
  Packed *recent = recent_of(w, h);
  if (equal(recent, state)) return;
  *recent = *state;
  send(w, state, h, parent);
}
