/* Adds new states to the store. */

enum { PAGES = 1 << 16 }; /* bytes of the level that are freed together: whole pages */

/* Makes room for so many states; returns false if there is none. */
static int has_room(Store *s, uint64_t more) {
  if (s->count + more >= UINT32_MAX) *s->failed = TOO_MANY;
  if (*s->failed) return 0;
  if (s->count + more <= s->room) return 1;
  uint64_t room = (s->count + more) * 5 / 4 + 4096;
  s->parents = grown_in(s->failed, s->files[PARENTS], s->parents, room * sizeof *s->parents);
  if (!has_keys(s, room, key_bytes(s))) return 0;
  s->room = room;
  return 1;
}

#ifdef FINGERPRINTS

/* Makes room for so many states of the next level. */
static void has_next(Store *s, uint64_t more) {
  uint64_t after = s->count - s->end + more;
  if (after * STATE_BYTES <= s->next_room) return;
  uint64_t room = (after + 1024) * STATE_BYTES * 5 / 4;
  s->next = grown(s->failed, s->next, room);
  if (!*s->failed) s->next_room = room;
}

INLINE void keep_next(Store *s, uint64_t number, const Packed *state) {
  memcpy(s->next + (number - s->end) * STATE_BYTES, state, STATE_BYTES);
}

#else

static void has_next(Store *s, uint64_t more) { (void)s, (void)more; }
INLINE void keep_next(Store *s, uint64_t number, const Packed *state) {
  (void)s, (void)number, (void)state;
}

#endif

/* Frees the pages of expanded states, which are not read again. So a level and the next one together
   take little more memory than the larger of them. */
static void give_back(Store *s) {
  uintptr_t from = ((uintptr_t)s->now + s->left + PAGES - 1) & -PAGES;
  uintptr_t to = ((uintptr_t)s->now + (s->expanded - s->level) * STATE_BYTES) & -PAGES;
  if (!s->now || to <= from) return;
  madvise((void *)from, to - from, MADV_DONTNEED);
  s->left = to - (uintptr_t)s->now;
}

/* Makes room for the new states of so many letters, without numbers; returns false if there is none. */
static int has_fresh(Set *set, uint64_t letters) {
  if (letters <= set->fresh_room) return 1;
  uint64_t room = letters * 5 / 4 + 1024;
  set->fresh = grown(set->failed, set->fresh, room * sizeof *set->fresh);
  if (!*set->failed) set->fresh_room = room;
  return !*set->failed;
}

/* Puts the new ones among the states of `n` letters into the hash set; `fresh` counts them. */
static void put_in_new(Search *all, Set *set, Letter *l, uint64_t n, uint64_t *fresh) {
  const Store *s = &all->store;
  for (uint64_t k = 0; k < n && k < BATCH; k++) look_ahead(set, l[k].hash);
  for (uint64_t start = 0; start < n; start += BATCH) {
    uint64_t end = n - start < BATCH ? n : start + BATCH;
    for (uint64_t k = start; k < end; k++) {
      look_at_candidate(s, set, l[k].hash);
      if (k + BATCH < n) look_ahead(set, l[k + BATCH].hash);
    }
    for (uint64_t k = start; k < end; k++) {
      uint32_t number = number_of(s, set, l + k);
      if (number == NOWHERE) {
        number = s->count + *fresh;
        uint32_t *slot = put_in(set, prefix_of(set, l[k].hash), number);
        set->fresh[(*fresh)++] = (Fresh){l + k, slot};
      }
      if (all->edges.kept) keep_target(&all->edges, number);
    }
  }
}

/* Makes room for so many new states of a worker; returns false if there is none. */
static int has_drafts(Worker *w, uint64_t states) {
  uint64_t *failed = &w->found.failed, room = states * 5 / 4 + 1024;
  if (states < w->room) return 1;
  w->ordered = grown(failed, w->ordered, room * sizeof *w->ordered);
  w->drafts = grown(failed, w->drafts, room * sizeof *w->drafts);
  w->incomplete = grown(failed, w->incomplete, room * sizeof *w->incomplete);
  if (!*failed) w->room = room;
  return !*failed;
}

/* Drafts the keys of a worker's new states, which are ordered. */
static void draft_keys(Worker *w) {
  w->incompletes = 0;
  for (uint64_t start = 0; start < w->new_states; start += BATCH) {
    uint64_t end = w->new_states - start < BATCH ? w->new_states : start + BATCH;
    draft_batch(&w->search->store, w->ordered + start, w->drafts + start, end - start);
    for (uint64_t k = start; k < end; k++) {
      w->incomplete[w->incompletes] = k;
      w->incompletes += !is_complete(w->drafts[k]);
    }
  }
}

/* Stores the new halves of a worker's new states. */
static void complete_drafts(Store *s, Worker *w) {
  for (uint64_t k = 0; k < w->incompletes && !*s->failed; k++)
    complete(s, w->ordered[w->incomplete[k]]->letter, w->drafts + w->incomplete[k]);
}

/* Writes one of a worker's new states into the store, and the run of its parent into `runs`. */
INLINE void write_new(Store *s, Worker *w, uint64_t ordered, uint64_t number, Runs *runs) {
  const Letter *letter = w->ordered[ordered]->letter;
  write_key(s, number, w->drafts[ordered]);
  keep_parent(s, &w->found.failed, runs, number, letter->parent);
  keep_next(s, number, &letter->state);
}

/* Adds the states that worker 0 sent to a part of the hash set, if they are new. */
static void take_in(Search *all, Set *set) {
  Store *s = &all->store;
  Worker *w = all->worker;
  Outbox *box = w->out + set->number;
  uint64_t fresh = 0, n = box->count;
  if (!n || !has_room(s, n) || !has_fresh(set, n) || !has_drafts(w, n)) return;
  if (!has_buckets(s, set, set->count + n)) return;
  put_in_new(all, set, box->letters, n, &fresh);
  for (uint64_t k = 0; k < fresh; k++) w->ordered[k] = set->fresh + k;
  w->new_states = fresh;
  draft_keys(w);
  complete_drafts(s, w);
  has_next(s, fresh);
  if (*s->failed) return;
  for (uint64_t k = 0; k < fresh; k++) write_new(s, w, k, s->count + k, &s->runs);
  s->count += fresh, set->count += fresh;
  box->count = 0;
}
