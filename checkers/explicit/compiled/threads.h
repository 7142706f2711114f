/* Several threads, which handle states in rounds; the caller's thread is worker 0.

   A round has four phases, and the threads meet after each of them.

   1. Each worker expands an equal part of the next states of the level. It sends its successors to the
      parts of the hash set, and counts them: the place of a letter.
   2. Each worker takes the letters for its part of the hash set, those of worker 0 first, and puts the
      new states into the set. They have no numbers yet.
   3. Each worker sorts its letters with new states by their places, and so numbers the states. It
      finds the halves of the states.
   4. Each worker writes the keys and the parents of these states into the store, and the numbers of the
      states in its part of the hash set into their slots.

   So the states have the numbers and the parents that one thread gives them, and each search has the
   same result with any number of threads. The exception is a search that meets an undefined term. One
   thread no longer evaluates a claim that is violated, but other threads may still find it undefined
   in a later state of the same level.

   While the threads meet, the last one does the work that has no parts: it makes room in the store,
   and it adds new halves. */

enum { SPINS = 100000 }; /* looks for the other threads before one sleeps, about 100 us */

typedef struct { uint64_t start, end; } Range;

/* Returns a worker's part of `count` states that begin with `first`: whole blocks. */
static Range share_of(const Worker *w, uint64_t first, uint64_t count) {
  uint64_t blocks = (count + BLOCK - 1) / BLOCK, threads = w->search->threads;
  uint64_t start = blocks * w->number / threads * BLOCK;
  uint64_t end = blocks * (w->number + 1) / threads * BLOCK;
  return (Range){first + start, first + (end < count ? end : count)};
}

/* Waits for all threads; the last one works alone before the others go on. A thread spins before it
   sleeps: a thread that is woken may run on the processor of the thread that wakes it, and then the
   two share one processor. */
static void meet(Search *all, void (*alone)(Search *)) {
  pthread_mutex_lock(&all->mutex);
  uint64_t turn = all->turn;
  if (++all->waiting == all->threads) {
    all->waiting = 0;
    alone(all);
    __atomic_store_n(&all->turn, turn + 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&all->turned);
  }
  pthread_mutex_unlock(&all->mutex);
  for (int n = 0; n < SPINS; n++)
    if (__atomic_load_n(&all->turn, __ATOMIC_ACQUIRE) != turn) return;
  pthread_mutex_lock(&all->mutex);
  while (turn == all->turn) pthread_cond_wait(&all->turned, &all->mutex);
  pthread_mutex_unlock(&all->mutex);
}

/* ---- the phases of a round */

static void expand_share(Worker *w) {
  const Store *s = &w->search->store;
  Range share = share_of(w, s->expanded, w->search->round);
  expand(w, share.start, share.end);
}

static void nothing(Search *all) { (void)all; }

/* Rebuilds all parts of the hash set together: each worker computes the hashes of an equal part of the
   states, and inserts those states that belong to its part of the set. */
static void rebuild(Worker *w) {
  Search *all = w->search;
  const Store *s = &all->store;
  uint64_t most = SHARED * all->threads;
  int has_room = grow(&w->set, growth_of(&w->set, all->largest_part));
  if (has_room) empty(&w->set);
  for (uint64_t start = 0; start < s->count; start += most) {
    uint64_t count = s->count - start < most ? s->count - start : most;
    Range share = share_of(w, start, count);
    for (uint64_t k = share.start; k < share.end; k++) all->hashes[k - start] = hash_of_key(s, k);
    meet(all, nothing);
    if (has_room) put_in_hashed(&w->set, all->hashes, start, count);
    meet(all, nothing);
  }
}

static void find_new(Worker *w) {
  Search *all = w->search;
  Set *set = &w->set;
  uint64_t letters = 0, fresh = 0;
  for (uint64_t k = 0; k < all->threads; k++) letters += all->worker[k].out[w->number].count;
  if (all->rebuilds) rebuild(w);
  if (!has_fresh(set, letters) || !has_buckets(&all->store, set, all->largest_part)) return;
  for (uint64_t k = 0; k < all->threads; k++) {
    set->from[k] = fresh;
    put_in_new(all, set, all->worker[k].out + w->number, &fresh);
  }
  set->from[all->threads] = fresh;
  set->count += fresh;
}

/* Sorts the letters with new states by their places. */
static void order(Worker *w) {
  Search *all = w->search;
  memset(w->ordered, 0, w->sent * sizeof *w->ordered);
  for (uint64_t part = 0; part < all->threads; part++) {
    const Set *set = &all->worker[part].set;
    for (uint64_t k = set->from[w->number]; k < set->from[w->number + 1]; k++)
      w->ordered[set->fresh[k].letter->place] = set->fresh[k].letter;
  }
  uint64_t n = 0;
  for (uint64_t place = 0; place < w->sent; place++) {
    w->ordered[n] = w->ordered[place];
    n += w->ordered[place] != NULL;
  }
}

static void number_and_draft(Worker *w) {
  if (!has_drafts(w, w->sent)) return;
  order(w);
  for (uint64_t k = 0; k < w->new_states; k++) w->ordered[k]->place = w->first_new + k;
  draft_keys(w);
}

static void store_new(Worker *w) {
  Set *set = &w->set;
  w->runs.count = 0;
  write_new(&w->search->store, w, &w->runs);
  uint64_t n = set->from[w->search->threads];
  for (uint64_t k = 0; k < n; k++) {
    if (k + AHEAD < n) look_at_slot_of(set, set->fresh[k + AHEAD]);
    renumber(set, set->fresh[k].slot, set->fresh[k].letter->place);
  }
}

/* ---- the work of the last thread, after each phase */

/* Returns true if some worker failed. */
static int any_failed(Search *all) {
  for (uint64_t k = 0; k < all->threads; k++) all->failed |= all->worker[k].found.failed;
  return all->failed != 0;
}

/* Computes the most states that a part of the hash set may have after this round. If all parts make
   room for so many, they grow in the same round, so no thread waits for another one's growth. */
static void measure_parts(Search *all) {
  if (any_failed(all)) return;
  for (uint64_t part = 0; part < all->threads; part++) {
    uint64_t states = all->worker[part].set.count;
    for (uint64_t k = 0; k < all->threads; k++) states += all->worker[k].out[part].count;
    if (states > all->largest_part) all->largest_part = states;
  }
  all->rebuilds = 0;
  for (uint64_t part = 0; part < all->threads; part++) {
    const Set *set = &all->worker[part].set;
    all->rebuilds |= is_full(set, all->largest_part) && !growth_of(set, all->largest_part).swept;
  }
}

static void count_new(Search *all) {
  Store *s = &all->store;
  if (any_failed(all)) return;
  uint64_t next = s->count;
  for (uint64_t k = 0; k < all->threads; k++) {
    Worker *w = all->worker + k;
    w->first_new = next;
    for (uint64_t part = 0; part < all->threads; part++)
      next += all->worker[part].set.from[k + 1] - all->worker[part].set.from[k];
    w->new_states = next - w->first_new;
  }
  has_room(s, next - s->count);
  has_next(s, next - s->count);
  any_failed(all);
}

static void complete_all(Search *all) {
  if (any_failed(all)) return;
  for (uint64_t k = 0; k < all->threads; k++) complete_drafts(&all->store, all->worker + k);
  any_failed(all);
}

static void begin_round(Search *all) {
  Store *s = &all->store;
  int ends = any_failed(all);
  for (uint64_t k = 0; k < all->threads; k++) ends |= all->worker[k].found.undefined != 0;
  uint64_t most = s->end - s->expanded < all->quota ? s->end - s->expanded : all->quota;
  all->round = ends ? 0 : most < SHARED * all->threads ? most : SHARED * all->threads;
}

static void end_round(Search *all) {
  Store *s = &all->store;
  for (uint64_t k = 0; k < all->threads; k++) {
    Worker *w = all->worker + k;
    for (uint64_t run = 0; run < w->runs.count; run++) add_run(s->failed, &s->runs, w->runs.runs[run]);
    for (uint64_t part = 0; part < all->threads; part++) w->out[part].count = 0;
    s->count += w->new_states;
    w->sent = 0;
  }
  s->expanded += all->round;
  all->quota -= all->round;
  give_back(s);
  begin_round(all);
}

/* ---- threads */

static void *judge_share(void *arg) {
  Worker *w = arg;
  Range share = share_of(w, w->search->store.judged, w->search->round);
  judge(w, share.start, share.end);
  return NULL;
}

static const struct { void (*work)(Worker *), (*alone)(Search *); } PHASES[] = {
    {expand_share, measure_parts},
    {find_new, count_new},
    {number_and_draft, complete_all},
    {store_new, end_round},
};

static void *run_rounds(void *arg) {
  Worker *w = arg;
  Search *all = w->search;
  while (all->round && !all->failed)
    for (int k = 0; k < 4 && !all->failed; k++) {
      PHASES[k].work(w);
      meet(all, PHASES[k].alone);
    }
  return NULL;
}

static void on_all(Search *all, void *(*work)(void *)) {
  pthread_t threads[THREADS];
  for (uint64_t k = 1; k < all->threads; k++)
    if (pthread_create(threads + k, NULL, work, all->worker + k)) abort();
  work(all->worker);
  for (uint64_t k = 1; k < all->threads; k++) pthread_join(threads[k], NULL);
}
