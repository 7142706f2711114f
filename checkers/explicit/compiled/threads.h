/* Several threads, which handle states in rounds; the caller's thread is worker 0.

   A round has three phases, and the threads meet after each of them.

   1. Each worker writes its new states of the round before into the store, and their numbers into the
      hash set. Then it expands every nth chunk of the next states of the level. It sends the successors
      to the parts of the hash set, and counts them: the place of a letter.
   2. Each worker takes the letters for its part of the hash set, chunk by chunk, and puts the new
      states into the set. They have no numbers yet.
   3. Each worker sorts its letters with new states by their places, and so numbers the states. It
      finds the halves of the states.

   So the states have the numbers and the parents that one thread gives them, and each search has the
   same result with any number of threads. The exception is a search that meets an undefined term. One
   thread no longer evaluates a claim that is violated, but other threads may still find it undefined
   in a later state of the same level.

   While the threads meet, the last one does the work that has no parts: it makes room in the store,
   and it adds new halves. If the system refuses to start a thread, the search has fewer threads. */

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

static void nothing(Search *all) { (void)all; }

/* ---- the phases of a round */

static uint64_t chunks_of(const Search *all) { return (all->round + CHUNK - 1) / CHUNK; }

/* Writes the new states of a chunk into the store, and their numbers into the hash set. Other threads
   may read bytes of the first keys at the same time, behind the last key of the level, and ignore them. */
static void write_chunk(Worker *w, Chunk *chunk) {
  Store *s = &w->search->store;
  Runs *runs = &w->runs;
  chunk->runs = runs->count;
  Fresh **states = w->ordered + chunk->ordered;
  uint64_t n = chunk->new_states, number = chunk->first_new;
  if (n) add_run(&w->found.failed, runs, (Run){number, states[0]->letter->parent});
  for (uint64_t k = 0; k < n && !w->found.failed; k++) {
    if (k + AHEAD < n) __builtin_prefetch(states[k + AHEAD]->slot, 1);
    *states[k]->slot = number + k;
    write_new(s, w, chunk->ordered + k, number + k, runs);
  }
  chunk->runs_end = runs->count;
}

static void expand_chunk(Worker *w, uint64_t number) {
  Search *all = w->search;
  Chunk *chunk = all->chunks + number;
  uint64_t start = number * CHUNK, end = start + CHUNK < all->round ? start + CHUNK : all->round;
  for (uint64_t part = 0; part < all->threads; part++) chunk->letters[part] = w->out[part].count;
  expand(w, all->store.expanded + start, all->store.expanded + end);
  for (uint64_t part = 0; part < all->threads; part++) chunk->end[part] = w->out[part].count;
}

static void write_and_expand(Worker *w) {
  Search *all = w->search;
  w->runs.count = 0;
  for (uint64_t k = w->number; k < all->chunks_before; k += all->threads) write_chunk(w, all->before + k);
  for (uint64_t part = 0; part < all->threads; part++) w->out[part].count = 0;
  w->sent = 0;
  for (uint64_t k = w->number; k < chunks_of(all); k += all->threads) expand_chunk(w, k);
}

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
  uint64_t part = w->number, chunks = chunks_of(all), letters = 0, fresh = 0;
  for (uint64_t k = 0; k < all->threads; k++) letters += all->worker[k].out[part].count;
  if (all->rebuilds) rebuild(w);
  if (!has_fresh(set, letters) || !has_buckets(&all->store, set, all->largest_part)) return;
  for (uint64_t k = 0; k < chunks; k++) {
    const Chunk *chunk = all->chunks + k;
    Letter *first = all->worker[k % all->threads].out[part].letters + chunk->letters[part];
    set->from[k] = fresh;
    put_in_new(all, set, first, chunk->end[part] - chunk->letters[part], &fresh);
  }
  set->from[chunks] = fresh;
  set->count += fresh;
}

/* Sorts the new states that a worker sent by the places of their letters. */
static void order(Worker *w) {
  Search *all = w->search;
  memset(w->ordered, 0, w->sent * sizeof *w->ordered);
  for (uint64_t k = w->number; k < chunks_of(all); k += all->threads)
    for (uint64_t part = 0; part < all->threads; part++) {
      const Set *set = &all->worker[part].set;
      for (Fresh *one = set->fresh + set->from[k]; one < set->fresh + set->from[k + 1]; one++)
        w->ordered[one->letter->place] = one;
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
  draft_keys(w);
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

/* Numbers the new states of the chunks, and makes room for them. */
static void count_new(Search *all) {
  Store *s = &all->store;
  if (any_failed(all)) return;
  uint64_t next = s->count;
  for (uint64_t k = 0; k < all->threads; k++) all->worker[k].new_states = 0;
  for (uint64_t k = 0; k < chunks_of(all); k++) {
    Chunk *chunk = all->chunks + k;
    Worker *w = all->worker + k % all->threads;
    chunk->ordered = w->new_states, chunk->first_new = next;
    for (uint64_t part = 0; part < all->threads; part++)
      next += all->worker[part].set.from[k + 1] - all->worker[part].set.from[k];
    chunk->new_states = next - chunk->first_new;
    w->new_states += chunk->new_states;
  }
  has_room(s, next - s->count);
  has_next(s, next - s->count);
  any_failed(all);
}

/* Adds the parents of the states that were written last. */
static void add_runs(Search *all) {
  Store *s = &all->store;
  for (uint64_t k = 0; k < all->chunks_before; k++) {
    const Chunk *chunk = all->before + k;
    const Runs *runs = &all->worker[k % all->threads].runs;
    for (uint64_t run = chunk->runs; run < chunk->runs_end; run++)
      add_run(s->failed, &s->runs, runs->runs[run]);
  }
  all->chunks_before = 0;
}

static void end_expansion(Search *all) {
  add_runs(all);
  measure_parts(all);
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
  if (any_failed(all)) return;
  for (uint64_t k = 0; k < all->threads; k++) complete_drafts(s, all->worker + k);
  if (any_failed(all)) return;
  for (uint64_t k = 0; k < all->threads; k++) s->count += all->worker[k].new_states;
  Chunk *before = all->before;
  all->before = all->chunks, all->chunks = before;
  all->chunks_before = chunks_of(all);
  s->expanded += all->round;
  all->quota -= all->round;
  give_back(s);
  begin_round(all);
}

/* ---- threads */

static void judge_share(Worker *w) {
  Range share = share_of(w, w->search->store.judged, w->search->round);
  judge(w, share.start, share.end);
}

static const struct { void (*work)(Worker *), (*alone)(Search *); } PHASES[] = {
    {write_and_expand, end_expansion},
    {find_new, count_new},
    {number_and_draft, end_round},
};

static void run_rounds(Worker *w) {
  Search *all = w->search;
  while (all->round && !all->failed)
    for (int k = 0; k < 3 && !all->failed; k++) {
      PHASES[k].work(w);
      meet(all, PHASES[k].alone);
    }
  if (!all->failed) write_and_expand(w);
}

/* Lets all threads do some work. */
static void on_all(Search *all, void (*work)(Worker *)) {
  all->work = work;
  meet(all, nothing);
  work(all->worker);
  meet(all, add_runs);
}

static void *serve(void *arg) {
  Worker *w = arg;
  Search *all = w->search;
  for (meet(all, nothing); all->work; meet(all, nothing)) {
    all->work(w);
    meet(all, add_runs);
  }
  return NULL;
}

/* Starts the threads; if the system refuses one, the search has fewer threads. */
static void start_threads(Search *all) {
  uint64_t started = 1;
  while (started < all->threads) {
    if (pthread_create(all->thread + started, NULL, serve, all->worker + started)) break;
    started++;
  }
  pthread_mutex_lock(&all->mutex);
  all->threads = started;
  pthread_mutex_unlock(&all->mutex);
}

static void end_threads(Search *all) {
  all->work = NULL;
  meet(all, nothing);
  for (uint64_t k = 1; k < all->threads; k++) pthread_join(all->thread[k], NULL);
}
