/* Sends the successors of states as letters, each to the part of the hash set that has its hash.

   Most states are reached again soon after they were found. Such repetitions send no letter: the next
   one replaces it, because a branch would often be mispredicted. */

INLINE Packed *recent_of(Worker *w, uint64_t h) { return w->recent + (h >> (64 - RECENT_BITS)); }

/* Initially no slot may hold a state that belongs there. So the slot of the all-zero state holds
   another state. */
static void remember_nothing(Worker *w) {
  Packed *own = recent_of(w, hash(w->recent));
  while (own == recent_of(w, hash(own))) own->word[0]++;
}

/* Makes room for so many letters and a replaced one; returns false if there is none. */
static int has_letters(Worker *w, uint64_t more) {
  for (uint64_t part = 0; part < w->set.parts; part++) {
    Outbox *box = w->out + part;
    if (box->count + more < box->room) continue;
    uint64_t room = (box->count + more + 4096) * 2;
    box->letters = grown(&w->found.failed, box->letters, room * sizeof *box->letters);
    if (w->found.failed) return 0;
    box->room = room;
  }
  return 1;
}

INLINE void send(Worker *w, const Packed *state, uint64_t h, uint32_t parent, int sent) {
  Outbox *box = w->out + part_of(h, w->set.parts);
  box->letters[box->count] = (Letter){*state, h, parent, w->sent};
  box->count += sent;
  w->sent += sent;
}

INLINE void post(Worker *w, const Packed *state, uint32_t parent) {
  uint64_t h = hash(state);
  Packed *recent = recent_of(w, h);
  int sent = !equal(recent, state);
  *recent = *state;
  send(w, state, h, parent, sent);
}
