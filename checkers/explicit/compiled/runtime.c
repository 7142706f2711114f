/* Breadth-first search over the states of one spec, level by level.

   The store has the states in the order in which they were found: their keys (`keys.h`) and their
   parents (`parents.h`). A hash set maps their hashes to their numbers (`hash_set.h`). So a level is a
   range of numbers. The search expands the states of a level in blocks (`block.h`) and sends their
   successors as letters (`letters.h`). Then it adds those that are new (`store.h`). Several threads do
   this in rounds, with the same result (`threads.h`).

   The caller judges a level, expands it and moves to the next, a limited number of states at a time, and
   reads `Found` between calls.

   With fingerprints the store also has the states of two levels: it frees expanded states while the next
   level grows. `edges.h` keeps the transitions, if the caller wants the graph of the states;
   `transitions.h` is for the finished graph. `partition.h` is for a search whose states are divided
   among machines, `on_disk.h` for a caller that stores the states itself, and `checkpoint.h` for one that
   goes on with an earlier search.

   -DFINGERPRINTS stores 64 bits of hash instead of a state; -DCOVERAGE counts false conjuncts. For
   tests, -DHASH_BITS=n makes hashes collide often, and -DPREFIX=n makes hash sets grow early. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* At -O1, compilers leave calls of some small functions, which cost 3 % of the time. */
#ifdef DRAFT /* compiles in less time */
#define INLINE static
#else
#define INLINE static inline __attribute__((always_inline))
#endif

#include "sizes.h"
#include "states.h"
#include "search.h"

typedef Bits (*StateClaim)(Worker *, Bits some);
typedef int (*StepClaim)(Worker *, uint32_t k, const uint8_t *after);
typedef Bits (*Lively)(Worker *, Bits some, const int *values);

#pragma GCC push_options
#ifndef DRAFT
#pragma GCC optimize("O2") /* until `pop_options`: 2 % less time, and no longer compilation of a spec */
#endif

#include "arrays.h"
#include "halves.h"
#include "keys.h"
#include "hash_set.h"
#include "parents.h"
#include "edges.h"
#include "store.h"
#include "letters.h"

#pragma GCC pop_options

#include "block.h"
#include "spec.h"
#include "claims.h"
#include "successors.h"
#include "threads.h"

/* ---- the interface */

Search *search_open(uint64_t threads) {
  uint64_t size = sizeof(Search) + threads * sizeof(Worker);
  Search *all = aligned_alloc(64, (size + 63) / 64 * 64);
  if (!all || threads > THREADS) return NULL;
  memset(all, 0, size);
  all->threads = threads;
  all->store.pair_bytes = 1;
  all->store.files[KEYS] = all->store.files[PARENTS] = MEMORY;
  all->store.failed = &all->worker->found.failed;
  all->hashes = malloc(threads * SHARED * sizeof *all->hashes);
  all->chunks = malloc(CHUNKS * sizeof *all->chunks);
  all->before = malloc(CHUNKS * sizeof *all->before);
  if (!all->hashes || !all->chunks || !all->before) return NULL;
  pthread_mutex_init(&all->mutex, NULL);
  pthread_cond_init(&all->turned, NULL);
  for (uint64_t k = 0; k < threads; k++) {
    Worker *w = all->worker + k;
    w->search = all;
    w->number = k;
    w->born = malloc((INSTANCES * BLOCK + 1) * sizeof(Born));
    if (!w->born) return NULL;
  }
  start_threads(all);
  for (uint64_t k = all->threads; k < threads; k++) free(all->worker[k].born);
  for (uint64_t k = 0; k < all->threads; k++) {
    Worker *w = all->worker + k;
    w->set = (Set){.number = k, .parts = all->threads, .failed = &w->found.failed};
    w->set.prefix = first_prefix(all->threads);
    remember_nothing(w);
  }
  return all;
}

/* Frees the states. */
static void forget(Search *all) {
  Store *s = &all->store;
  void *arrays[] = {s->keys, s->parents, s->runs.runs, s->now, s->next, s->heads.bytes, s->tails.bytes};
  for (uint64_t k = 0; k < sizeof arrays / sizeof *arrays; k++) dropped(arrays[k]);
  free(s->heads.number), free(s->tails.number);
  s->keys = s->parents = s->now = s->next = NULL;
  s->runs = (Runs){0};
  s->heads = s->tails = (Halves){0};
  s->files[KEYS] = s->files[PARENTS] = MEMORY;
  for (uint64_t k = 0; k < all->threads; k++) {
    dropped(all->worker[k].set.buckets);
    all->worker[k].set.buckets = NULL;
  }
  forget_edges(&all->edges);
}

void search_close(Search *all) {
  end_threads(all);
  forget(all);
  free(all->hashes), free(all->chunks), free(all->before);
  for (uint64_t k = 0; k < all->threads; k++) {
    Worker *w = all->worker + k;
    free(w->born);
    dropped(w->ordered), dropped(w->drafts), dropped(w->incomplete);
    dropped(w->runs.runs), dropped(w->set.fresh);
    for (uint64_t to = 0; to < all->threads; to++) dropped(w->out[to].letters);
  }
  pthread_mutex_destroy(&all->mutex);
  pthread_cond_destroy(&all->turned);
  free(all);
}

/* Adds an initial state; its parent is UINT32_MAX. */
void search_start(Search *all, const uint8_t *stored) {
  Packed p = load(stored);
  if (has_letters(all->worker, 1)) post(all->worker, &p, UINT32_MAX);
  for (uint64_t k = 0; k < all->threads; k++) take_in(all, &all->worker[k].set);
  all->worker->sent = 0;
}

/* Makes the states found since the last call the current level; returns their number. */
uint64_t search_next_level(Search *all) {
  Store *s = &all->store;
  dropped(s->now);
  s->now = s->next, s->next = NULL, s->next_room = s->left = 0;
  s->level = s->judged = s->expanded = s->end;
  s->end = s->count;
  return s->end - s->level;
}

/* Judges the next states of the level, at most `quota` for each thread; returns how many are left. */
uint64_t search_judge(Search *all, uint64_t quota) {
  Store *s = &all->store;
  uint64_t left = s->end - s->judged, most = quota * all->threads;
  all->round = left < most ? left : most;
  on_all(all, judge_share);
  s->judged += all->round;
  return s->end - s->judged;
}

static void expand_alone(Search *all, uint64_t quota) {
  Store *s = &all->store;
  for (uint64_t done = 0; done < quota && s->expanded < s->end; done += ROUND) {
    uint64_t end = s->end - s->expanded < ROUND ? s->end : s->expanded + ROUND;
    expand(all->worker, s->expanded, end);
    s->expanded = end;
    give_back(s);
    take_in(all, &all->worker->set);
    all->worker->sent = 0;
  }
}

/* Expands the next states of the level, at most `quota` for each thread; returns how many are left. */
uint64_t search_expand(Search *all, uint64_t quota) {
  Store *s = &all->store;
  if (all->threads == 1) {
    expand_alone(all, quota);
  } else {
    all->quota = quota * all->threads;
    begin_round(all);
    on_all(all, run_rounds);
  }
  return s->end - s->expanded;
}

uint64_t search_count(const Search *all) { return all->store.count; }
uint64_t search_queue(const Search *all) { return all->store.count - all->store.expanded; }
Found *search_found(Search *all, uint64_t worker) { return &all->worker[worker].found; }
uint64_t search_parent(const Search *all, uint64_t number) { return parent_of(&all->store, number); }

void search_key(const Search *all, uint64_t number, uint8_t *key) { copy_key(&all->store, number, key); }

/* Returns the bytes of all keys, with the halves that they name. */
uint64_t search_key_bytes(const Search *all) { return bytes_of_keys(&all->store); }

/* Returns the bytes of the halves, which stay in memory if the keys move to a file. */
uint64_t search_half_bytes(const Search *all) { return bytes_of_halves(&all->store); }

/* Returns the bytes of the hash set. */
uint64_t search_set_bytes(const Search *all) {
  uint64_t bytes = 0;
  for (uint64_t k = 0; k < all->threads; k++) bytes += bytes_of_buckets(&all->worker[k].set);
  return bytes;
}

/* Returns the bytes of all parents. */
uint64_t search_parent_bytes(const Search *all) { return bytes_of_parents(&all->store); }

void search_hash(const uint8_t *stored, uint64_t count, uint64_t *hashes) {
  for (uint64_t k = 0; k < count; k++) {
    Packed p = load(stored + k * STATE_BYTES);
    hashes[k] = hash(&p);
  }
}

uint64_t search_fingerprint(const uint8_t *stored) {
  Packed p = load(stored);
  return hash(&p);
}

#include "on_disk.h"
#include "checkpoint.h"
#include "partition.h"
#include "transitions.h"
