/* Breadth-first search over the states of one spec, level by level.

   States are divided into shards by a hash of their last bytes. A shard stores its states in the
   order in which they were found, so a level is a range of indices and needs no queue. It stores
   their keys (`keys.h`), their parents (`parents.h`) and a hash set of the indices (`hash_set.h`).
   Each shard has a thread. In each round the threads expand the next states of every shard, each
   thread an equal share, into letters (successors addressed to a shard). Then they wait for each
   other, and each inserts the letters addressed to its shard, those of thread 0 first. So the
   states found and their order depend only on the number of shards.
   With fingerprints a shard also stores the states of two levels: it frees expanded states while the
   next level grows.

   States are processed in blocks. `cells` holds one cell of all states of a block in a row, so one
   instruction tests that cell in all of them. A bit set holds the states for which a guard or claim
   is true. The successors of a block are sorted by their source state before they are posted.

   The number of a state is its index in its shard times the number of shards, plus its shard. The
   caller judges a level, expands it and moves to the next, a limited number of states at a time, and
   reads `Found` between calls.

   `edges.h` keeps the transitions, if the caller wants the graph of the states; `transitions.h` is for
   the finished graph. `partition.h` is for a search whose states are divided among machines.

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

#include "sizes.h"

#define OWNING (STATE_BYTES < 2 ? STATE_BYTES : 2) /* bytes of a state that select its shard */

#define BLOCK 16 /* states that are processed together */

enum { KEYS, PARENTS }; /* the arrays that can be in files */

/* Why a shard failed. A number of a state has 32 bits. If the system refused to enlarge a file, its
   error number is added to REFUSED. */
enum { NO_MEMORY = 1, TOO_MANY, REFUSED = 1 << 16 };

enum {
  SHARDS = 16,      /* at most */
  ROUND = 4096,     /* states that one thread expands before it takes in their letters */
  SHARED = 65536,   /* states of each shard that several threads expand between two barriers */
  SPINS = 100000,   /* looks for the other threads before one sleeps, about 100 us */
  AHEAD = 12,       /* letters whose buckets are prefetched */
  RECENT_BITS = 11, /* log2 of the number of recent letters, which fit into the CPU cache */
  PAGES = 1 << 16,  /* bytes of the level that are freed together: whole pages */
};

typedef struct { uint64_t word[WORDS]; } Packed;
typedef struct Bucket Bucket;
typedef struct { uint32_t first, parent; } Run; /* from this state on, parents close after this one */
typedef struct { Packed state; uint64_t hash; uint64_t parent; } Letter;
typedef struct { Packed state; uint32_t instance, next; } Born; /* the next successor of the same state */
typedef int8_t Many __attribute__((vector_size(BLOCK)));       /* one cell of each state of a block */
typedef uint16_t Wide __attribute__((vector_size(BLOCK)));
typedef uint32_t Bits;                                         /* a bit set of states of a block */
typedef struct { Letter *letters; uint64_t count, room; } Outbox;
typedef struct {
  uint8_t *bytes;       /* the halves, in the order of their numbers */
  uint32_t *number;     /* slot of a hash set -> the number of a half plus one, or 0 */
  uint64_t count, room, slots;
  uint32_t bits;        /* of a number in a key */
} Halves;
typedef struct {
  uint32_t *offsets, *targets;
  Label *labels;
  uint64_t states, edges, found;              /* the written offsets, labels and targets */
  uint64_t state_room, edge_room;
  int files[3], kept;                         /* of the arrays; true if the search keeps transitions */
} Edges;

/* Numbers of states are stored plus one: 0 is no state. Arrays have one element more than needed,
   so that none is empty. */
typedef struct {
  uint64_t generated, stuck, first_stuck, undefined, undefined_step, failed;
  uint64_t taken[ACTIONS + 1], missed[CONJUNCTS + 1];
  uint64_t open[CLAIMS + 1], broken[CLAIMS + 1], broken_by[CLAIMS + 1][WORDS];
  uint64_t seen[WITNESSES + 1], first_seen[WITNESSES + 1];
} Found;

typedef struct Search Search;
typedef struct {
  Many cells[CELLS + 1];                      /* the block of states, unpacked, and */
  Packed packed[BLOCK];                       /* packed */
  Born *born;                                 /* successors of the block, from index 1 on */
  uint32_t births, first[BLOCK], last[BLOCK];
  uint32_t reading;                           /* the state of the block that `inside` reads */
  Bits undefined;                             /* the states in which a term is undefined */
  int judges_steps;                           /* true if a claim about steps is undecided */
  Search *search;
  uint64_t number;
  uint8_t *keys;
  Halves heads, tails;                        /* the halves of the states, if keys are not fingerprints */
  uint32_t pair_bytes;                        /* of a key with the numbers of two halves */
  uint8_t *parents;                           /* distance from the parent of its run, in the same shard */
  Run *runs;
  uint64_t run_count, run_room;
  uint64_t count, room;
  int files[2];                               /* of the keys and of the parents, or MEMORY */
  Bucket *buckets;
  int prefix;                                 /* bits of a hash that order the buckets */
  uint64_t size;                              /* buckets of the hash set, without REACH spare ones */
  int far;                                    /* true if some state is far from its home bucket */
  uint64_t level, end, judged, expanded;      /* the level is [level, end) */
  const uint8_t *given;                       /* the states of the level, if the caller stores them */
  uint8_t *now, *next;                        /* the states of the level, if keys are fingerprints */
  uint64_t next_room, left;                   /* `now` is freed up to byte `left` */
  Packed recent[1 << RECENT_BITS];            /* the last letter for each hash prefix */
  Outbox out[SHARDS];
  Edges edges;
  Found found;
} Shard;

struct Search {
  uint64_t shards, waiting, turn, quota;
  pthread_mutex_t mutex;
  pthread_cond_t turned;
  int last_round;
  Shard shard[];
};

typedef Bits (*StateClaim)(Shard *, Bits some);
typedef int (*StepClaim)(Shard *, uint32_t k, const uint8_t *after);
typedef Bits (*Lively)(Shard *, Bits some, const int *values);

/* ---- stored states */

static inline Packed load(const uint8_t *stored) {
  Packed p = {{0}};
  memcpy(&p, stored, STATE_BYTES);
  return p;
}

static inline int equal(const Packed *p, const Packed *q) {
  uint64_t differ = 0;
  for (int k = 0; k < WORDS; k++) differ |= p->word[k] ^ q->word[k];
  return !differ;
}

static inline void unpack(const Packed *p, uint8_t *s) {
#define CELL(cell, at, by, wide) s[cell] = p->word[at] >> by & ((1u << wide) - 1);
  FOR_EVERY_CELL(CELL)
#undef CELL
}

static inline void put(Packed *p, int cell, int value) {
  uint64_t *word = p->word + WORD[cell];
  *word = (*word & OTHERS[cell]) | (uint64_t)value << SHIFT[cell];
}

/* Fingerprints need a good hash: Murmur3's finalizer, applied to one word after another, a bijection of
   each word. Exact states need only an even one: the two halves of one product for each word. */
static inline uint64_t hash(const Packed *p) {
  uint64_t h = 0x9e3779b97f4a7c15u;
  for (int k = 0; k < WORDS; k++) {
    h = (h ^ p->word[k]) + 0x9e3779b97f4a7c15u * k;
#if defined FINGERPRINTS || !defined __SIZEOF_INT128__
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    h ^= h >> 33;
#else
    unsigned __int128 product = (unsigned __int128)h * 0xff51afd7ed558ccdu;
    h = (uint64_t)product ^ (uint64_t)(product >> 64);
#endif
  }
#ifdef HASH_BITS
  h <<= 64 - HASH_BITS;
#endif
  return h;
}

static inline uint64_t number_of(const Shard *w, uint64_t index) {
  return index * w->search->shards + w->number;
}

/* ---- memory */

#pragma GCC push_options
#pragma GCC optimize("O2") /* until `pop_options`: 2 % less time, and no longer compilation of a spec */

#include "arrays.h"
#include "keys.h"

/* Frees the pages of expanded states, which are not read again. So a level and the next one together
   take little more memory than the larger of them. */
static void give_back(Shard *w) {
  uintptr_t from = ((uintptr_t)w->now + w->left + PAGES - 1) & -PAGES;
  uintptr_t to = ((uintptr_t)w->now + (w->expanded - w->level) * STATE_BYTES) & -PAGES;
  if (!w->now || to <= from) return;
  madvise((void *)from, to - from, MADV_DONTNEED);
  w->left = to - (uintptr_t)w->now;
}

static int has_room(Shard *w, uint64_t more) {
  if ((w->count + more) * w->search->shards >= UINT32_MAX) w->found.failed = TOO_MANY;
  if (w->found.failed) return 0;
  if (w->count + more <= w->room) return 1;
  uint64_t room = (w->count + more) * 5 / 4 + 4096;
  w->parents = grown_in(w, w->files[PARENTS], w->parents, room * sizeof *w->parents);
  if (!has_keys(w, room, key_bytes(w))) return 0;
  w->room = room;
  return 1;
}

#include "hash_set.h"
#include "parents.h"
#include "edges.h"

/* Adds a state if it is new; returns its index. */
static uint32_t insert(Shard *w, const Letter *letter) {
  uint32_t index = index_of(w, letter);
  if (index != NOWHERE) return index;
  put_in(w, prefix_of(w, letter->hash), w->count);
  keep_key(w, letter);
  keep_parent(w, letter->parent);
#ifdef FINGERPRINTS
  uint64_t after = w->count - w->end;
  if ((after + 1) * STATE_BYTES > w->next_room) {
    w->next_room = (after + 1024) * STATE_BYTES * 5 / 4;
    w->next = grown(w, w->next, w->next_room);
  }
  memcpy(w->next + after * STATE_BYTES, &letter->state, STATE_BYTES);
#endif
  return w->count++;
}

static void take_in(Shard *w, Outbox *box) {
  const Letter *l = box->letters;
  uint64_t n = box->count;
  if (!n || !has_room(w, n)) return;
  if (!has_buckets(w, w->count + n)) return;
  for (uint64_t k = 0; k < n && k < AHEAD; k++) look_ahead(w, l[k].hash);
  for (uint64_t k = 0; k < n && !w->found.failed; k++) {
    if (k + AHEAD < n) look_ahead(w, l[k + AHEAD].hash);
    if (k + AHEAD / 2 < n) {  /* its bucket is cached by now: prefetch the key of a candidate */
      uint64_t prefix = prefix_of(w, l[k + AHEAD / 2].hash);
      const Bucket *b = w->buckets + home_of(w, prefix);
      uint32_t may = slots_of(b, tag_of(prefix));
      if (may) look_at_key(w, b->index[__builtin_ctz(may)]);
    }
    uint32_t index = insert(w, l + k);
    if (w->edges.kept) keep_target(w, index);
  }
  box->count = 0;
}

/* Most states are reached again soon after they were found. Such repetitions send no letter. */
static inline Packed *recent_of(Shard *w, uint64_t h) { return w->recent + (h >> (64 - RECENT_BITS)); }

/* Initially no slot may hold a state that belongs there. So the slot of the all-zero state holds
   another state. */
static void remember_nothing(Shard *w) {
  Packed *own = recent_of(w, hash(w->recent));
  while (own == recent_of(w, hash(own))) own->word[0]++;
}

/* Returns a number below 65,536 that decides to which shard a state belongs. It depends on the last
   bytes only, which few actions change: so most successors stay in the shard of their source, where
   they meet the same states from other sources, and `recent` holds back most repetitions. With a hash
   of the whole state, two threads sent 40 % more letters than one. */
static inline uint64_t owner_of(const Packed *state) {
  uint64_t tail = 0;
  memcpy(&tail, (const uint8_t *)state + STATE_BYTES - OWNING, OWNING);
  return (tail + 1) * 0xff51afd7ed558ccdu >> 48;
}

static void send(Shard *w, const Packed *state, uint64_t h, uint64_t parent) {
  uint64_t shards = w->search->shards;
  Outbox *box = w->out + (shards == 1 ? 0 : (owner_of(state) * shards >> 16));
  if (box->count == box->room) {
    box->letters = grown(w, box->letters, (box->room + 4096) * 2 * sizeof *box->letters);
    if (w->found.failed) return;
    box->room = (box->room + 4096) * 2;
  }
  box->letters[box->count++] = (Letter){*state, h, parent};
}

static void post(Shard *w, const Packed *state, uint64_t parent) {
  uint64_t h = hash(state);
  Packed *recent = recent_of(w, h);
  if (equal(recent, state)) return;
  *recent = *state;
  send(w, state, h, parent);
}

#pragma GCC pop_options

/* ---- the actions and claims of the spec, on a block of states */

#define BIT(k) ((Bits)1 << (k))

/* Loops over a bit set of states, with `k` as the state. */
#define FOR_EACH(k, some)                                                                   \
  for (Bits rest = (some), k; rest && (k = w->reading = __builtin_ctz(rest), 1); rest &= rest - 1)

#define CELL(cell) ((const uint8_t *)w->cells)[(cell) * BLOCK + k]
#define AFTER(cell) after[(cell) - CELLS]

static inline int inside(Shard *w, int value, int size) {
  if ((unsigned)value < (unsigned)size) return value;
  w->undefined |= BIT(w->reading);
  return 0;
}

static inline Many every(int value) { return (Many){0} + (int8_t)value; }
static inline Many chosen(Many test, Many then, Many other) { return (test & then) | (~test & other); }

/* Returns the lanes in which a truth value is true. */
static inline Bits which(Many truth) {
  Bits out = 0;
#ifdef __SSE2__
  __m128i half[BLOCK / 16];
  memcpy(half, &truth, BLOCK);
  for (int h = 0; h < BLOCK / 16; h++) out |= (Bits)_mm_movemask_epi8(half[h]) << 16 * h;
#else
  uint64_t eight[BLOCK / 8];
  memcpy(eight, &truth, BLOCK);
  for (int e = 0; e < BLOCK / 8; e++)
    out |= (Bits)((eight[e] & 0x0101010101010101u) * 0x0102040810204080u >> 56) << 8 * e;
#endif
  return out;
}

static inline void emit(Shard *w, uint32_t k, const Packed *to, uint32_t instance) {
  uint32_t birth = ++w->births;
  w->born[birth] = (Born){*to, instance, 0};
  *(w->first[k] ? &w->born[w->last[k]].next : &w->first[k]) = birth;
  w->last[k] = birth;
}

#ifdef COVERAGE
#define MISSED(conjunct, instances) \
  w->found.missed[conjunct] += (uint64_t)__builtin_popcount(some & ~left) * instances
#else
#define MISSED(conjunct, instances) (void)0
#endif

#include "spec.h"

typedef union { uint8_t one[STATE_BYTES][BLOCK]; Wide all[STATE_BYTES]; } Bytes;

/* Reads the state at an index of a shard as state `k` of the block. */
static inline void read_state(Shard *w, const Shard *of, uint64_t index, Bytes *bytes, uint64_t k) {
  const uint8_t *states = of->given;
#ifdef FINGERPRINTS
  if (!states) states = of->now;
#else
  if (!states) {
    uint64_t pair = pair_of(of, index);
    const uint8_t *head = head_of(of, pair), *tail = tail_of(of, pair);
    w->packed[k] = joined(head, tail);
    for (int byte = 0; byte < HEAD; byte++) bytes->one[byte][k] = head[byte];
    for (int byte = 0; byte < TAIL; byte++) bytes->one[HEAD + byte][k] = tail[byte];
    return;
  }
#endif
  states += (index - of->level) * STATE_BYTES;
  w->packed[k] = load(states);
  for (int byte = 0; byte < STATE_BYTES; byte++) bytes->one[byte][k] = states[byte];
}

/* Unpacks a block of states of a shard, at most `most` of them; returns the states of the block. */
static Bits read_block(Shard *w, const Shard *of, uint64_t start, uint64_t most) {
  uint64_t n = of->end - start;
  if (n > most) n = most;
  if (n > BLOCK) n = BLOCK;
  Bytes bytes;
  for (uint64_t k = 0; k < n; k++) read_state(w, of, start + k, &bytes, k);
#define CELL_OF_ALL(cell, at, by, wide) \
  w->cells[cell] = (Many)(bytes.all[at * 8 + by / 8] >> by % 8) & every((1 << wide) - 1);
  FOR_EVERY_CELL(CELL_OF_ALL)
#undef CELL_OF_ALL
  w->undefined = 0;
  return BIT(n - 1) | (BIT(n - 1) - 1);
}

static void judge_block(Shard *w, Bits some) {
  uint64_t first = number_of(w, w->judged) + 1, shards = w->search->shards;
  for (int c = 0; c < CLAIMS; c++) {
    if (!claim_of_states[c] || !w->found.open[c]) continue;
    Bits broken = some & ~claim_of_states[c](w, some);
    if (!broken) continue;
    w->found.open[c] = 0;
    w->found.broken[c] = first + __builtin_ctz(broken) * shards;
  }
  for (int c = 0; c < WITNESSES; c++) {
    Bits seen = witness[c](w, some);
    if (seen && !w->found.seen[c]) w->found.first_seen[c] = first + __builtin_ctz(seen) * shards;
    w->found.seen[c] += __builtin_popcount(seen);
  }
  if (w->undefined) w->found.undefined = first + __builtin_ctz(w->undefined) * shards;
}

static uint64_t judge_some(Shard *w, uint64_t quota) {
  while (quota && w->judged < w->end && !w->found.undefined) {
    Bits some = read_block(w, w, w->judged, quota);
    judge_block(w, some);
    w->judged += __builtin_popcount(some);
    quota -= __builtin_popcount(some);
  }
  return quota;
}

static void judge_step(Shard *w, uint32_t k, uint64_t name, const Packed *to) {
  uint8_t after[CELLS + 1];
  int read = 0;
  Bits before = w->undefined;
  for (int c = 0; c < CLAIMS; c++) {
    if (!claim_of_steps[c] || !w->found.open[c]) continue;
    if (!read++) unpack(to, after);
    if (!claim_of_steps[c](w, k, after) && !w->undefined) {
      w->found.open[c] = 0;
      w->found.broken[c] = name;
      memcpy(w->found.broken_by[c], to, sizeof *to);
    }
  }
  if (w->undefined && !before) w->found.undefined_step = 1;
}

/* Posts the successors of a state of the block. A kept transition always has a letter, which finds its
   target; a transition to the same state is not kept. */
static void post_born(Shard *w, uint32_t k, uint64_t number) {
  w->reading = k;
  if (w->edges.kept) keep_offset(w);
  if (!w->first[k] && !w->found.stuck++) w->found.first_stuck = number + 1;
  for (uint32_t birth = w->first[k]; birth; birth = w->born[birth].next) {
    const Born *born = w->born + birth;
    w->found.generated++;
    w->found.taken[ACTION[born->instance]]++;
    int stutters = (w->judges_steps || w->edges.kept) && equal(w->packed + k, &born->state);
    if (w->judges_steps && !stutters) judge_step(w, k, number + 1, &born->state);
    if (!w->edges.kept) post(w, &born->state, number);
    else if (!stutters) keep_label(w, born->instance), send(w, &born->state, hash(&born->state), number);
  }
}

/* Posts the successors of the states [start, end) of a shard. */
static void expand(Shard *w, const Shard *of, uint64_t start, uint64_t end) {
  w->judges_steps = 0;
  for (int c = 0; c < CLAIMS; c++) w->judges_steps |= claim_of_steps[c] && w->found.open[c];
  while (start < end && !w->found.undefined) {
    Bits some = read_block(w, of, start, end - start);
    w->births = 0;
    memset(w->first, 0, sizeof w->first);
    successors(w, some);
    if (w->edges.kept && !has_edges(w, w->births)) return;
    FOR_EACH(k, some) {
      uint64_t number = number_of(of, start++);
      if (!(w->undefined & BIT(k))) post_born(w, k, number);
      if (!(w->undefined & BIT(k))) continue;
      w->found.undefined = number + 1;
      break;
    }
  }
}

/* ---- threads: the caller's thread runs shard 0 */

/* Waits for all threads. A thread spins before it sleeps: a thread that is woken may run on the
   processor of the thread that wakes it, and then the two share one processor. */
static void meet(Search *all) {
  if (all->shards == 1) return;
  pthread_mutex_lock(&all->mutex);
  uint64_t turn = all->turn;
  if (++all->waiting == all->shards) {
    all->waiting = 0;
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

static void *judge_shard(void *arg) {
  Shard *w = arg;
  judge_some(w, w->search->quota);
  return NULL;
}

/* Returns the most states of a shard in a round. Neighbouring states send most of their letters to one
   shard, so in short rounds the other threads wait: with 4096 states, two threads took a fifth longer. */
static uint64_t most_of_round(const Search *all) { return all->shards == 1 ? ROUND : SHARED; }

static uint64_t states_of_round(const Shard *w) {
  uint64_t left = w->end - w->expanded, most = most_of_round(w->search);
  return left < most ? left : most;
}

/* Expands the thread's share of a shard's states of this round. */
static void expand_share(Shard *w, const Shard *of) {
  uint64_t blocks = (states_of_round(of) + BLOCK - 1) / BLOCK, shards = w->search->shards;
  uint64_t start = of->expanded + blocks * w->number / shards * BLOCK;
  uint64_t end = of->expanded + blocks * (w->number + 1) / shards * BLOCK;
  expand(w, of, start, end < of->end ? end : of->end);
}

static void *expand_shard(void *arg) {
  Shard *w = arg;
  Search *all = w->search;
  for (uint64_t done = 0; done < all->quota; done += most_of_round(all)) {
    for (uint64_t k = 0; k < all->shards; k++) expand_share(w, all->shard + k);
    meet(all);
    w->expanded += states_of_round(w);
    give_back(w);
    for (uint64_t k = 0; k < all->shards; k++) take_in(w, all->shard[k].out + w->number);
    meet(all);
  }
  return NULL;
}

static void on_all(Search *all, void *(*work)(void *), uint64_t quota) {
  pthread_t threads[SHARDS];
  all->quota = quota;
  for (uint64_t k = 1; k < all->shards; k++)
    if (pthread_create(threads + k, NULL, work, all->shard + k)) abort();
  work(all->shard);
  for (uint64_t k = 1; k < all->shards; k++) pthread_join(threads[k], NULL);
}

/* ---- the interface */

Search *search_open(uint64_t shards) {
  uint64_t size = (sizeof(Search) + shards * sizeof(Shard) + 63) / 64 * 64;
  Search *all = aligned_alloc(64, size);
  if (!all || shards > SHARDS) return NULL;
  memset(all, 0, size);
  all->shards = shards;
  pthread_mutex_init(&all->mutex, NULL);
  pthread_cond_init(&all->turned, NULL);
  for (uint64_t k = 0; k < shards; k++) {
    all->shard[k].search = all;
    all->shard[k].number = k;
    all->shard[k].born = malloc((INSTANCES * BLOCK + 1) * sizeof(Born));
    if (!all->shard[k].born) return NULL;
    all->shard[k].pair_bytes = 1;
    all->shard[k].prefix = PREFIX;
    all->shard[k].files[KEYS] = all->shard[k].files[PARENTS] = MEMORY;
    remember_nothing(all->shard + k);
  }
  return all;
}

static void forget(Shard *w) {
  dropped(w->keys), dropped(w->parents), dropped(w->runs), dropped(w->buckets);
  dropped(w->now), dropped(w->next), dropped(w->heads.bytes), dropped(w->tails.bytes);
  free(w->heads.number), free(w->tails.number);
  w->keys = w->parents = w->now = w->next = NULL;
  w->runs = NULL, w->buckets = NULL;
  w->heads = w->tails = (Halves){0};
  w->files[KEYS] = w->files[PARENTS] = MEMORY;
  forget_edges(w);
}

void search_close(Search *all) {
  for (uint64_t k = 0; k < all->shards; k++) {
    Shard *w = all->shard + k;
    forget(w), free(w->born);
    for (uint64_t to = 0; to < all->shards; to++) dropped(w->out[to].letters);
  }
  pthread_mutex_destroy(&all->mutex);
  pthread_cond_destroy(&all->turned);
  free(all);
}

/* Adds an initial state; its parent is UINT32_MAX. */
void search_start(Search *all, const uint8_t *stored) {
  Packed p = load(stored);
  post(all->shard, &p, UINT32_MAX);
  for (uint64_t k = 0; k < all->shards; k++) take_in(all->shard + k, all->shard->out + k);
}

/* Makes the states found since the last call the current level; returns their number. */
uint64_t search_next_level(Search *all) {
  uint64_t states = 0;
  for (uint64_t k = 0; k < all->shards; k++) {
    Shard *w = all->shard + k;
    dropped(w->now);
    w->now = w->next, w->next = NULL, w->next_room = w->left = 0;
    w->level = w->judged = w->expanded = w->end;
    w->end = w->count;
    states += w->end - w->level;
  }
  return states;
}

uint64_t search_judge(Search *all, uint64_t quota) {
  on_all(all, judge_shard, quota);
  uint64_t left = 0;
  for (uint64_t k = 0; k < all->shards; k++) left += all->shard[k].end - all->shard[k].judged;
  return left;
}

uint64_t search_expand(Search *all, uint64_t quota) {
  on_all(all, expand_shard, quota);
  uint64_t left = 0;
  for (uint64_t k = 0; k < all->shards; k++) left += all->shard[k].end - all->shard[k].expanded;
  return left;
}

uint64_t search_count(const Search *all, uint64_t shard) { return all->shard[shard].count; }

uint64_t search_queue(const Search *all) {
  uint64_t queue = 0;
  for (uint64_t k = 0; k < all->shards; k++) queue += all->shard[k].count - all->shard[k].expanded;
  return queue;
}

Found *search_found(Search *all, uint64_t shard) { return &all->shard[shard].found; }

uint64_t search_parent(const Search *all, uint64_t number) {
  return parent_of(all->shard + number % all->shards, number / all->shards);
}

void search_key(const Search *all, uint64_t number, uint8_t *key) {
  copy_key(all->shard + number % all->shards, number / all->shards, key);
}

/* Returns the bytes of all keys, with the halves that they name. */
uint64_t search_key_bytes(const Search *all) {
  uint64_t bytes = 0;
  for (uint64_t k = 0; k < all->shards; k++) bytes += bytes_of_keys(all->shard + k);
  return bytes;
}

/* Returns the bytes of the halves, which stay in memory if the keys move to a file. */
uint64_t search_half_bytes(const Search *all) {
  uint64_t bytes = 0;
  for (uint64_t k = 0; k < all->shards; k++) bytes += bytes_of_halves(all->shard + k);
  return bytes;
}

/* Returns the bytes of the hash sets. */
uint64_t search_set_bytes(const Search *all) {
  uint64_t bytes = 0;
  for (uint64_t k = 0; k < all->shards; k++) bytes += bytes_of_buckets(all->shard + k);
  return bytes;
}

/* Returns the bytes of all parents. */
uint64_t search_parent_bytes(const Search *all) {
  uint64_t bytes = 0;
  for (uint64_t k = 0; k < all->shards; k++) bytes += bytes_of_parents(all->shard + k);
  return bytes;
}

/* Moves the keys and the parents of the first shard to two files. The hash set and the halves stay in
   memory. */
void search_move(Search *all, int keys, int parents) {
  Shard *w = all->shard;
  int files[] = {keys, parents};
  memcpy(w->files, files, sizeof files);
  w->keys = moved(w, keys, w->keys, w->count * key_bytes(w), w->room * key_bytes(w) + SLACK);
  w->parents = moved(w, parents, w->parents, w->count, w->room);
}

/* Copies the keys of `count` states of the first shard. */
void search_keys(const Search *all, uint64_t first, uint64_t count, uint8_t *keys) {
  for (uint64_t k = 0; k < count; k++) copy_key(all->shard, first + k, keys + k * KEY_BYTES);
}

/* Copies the parents of `count` of its states. */
void search_parents(const Search *all, uint64_t first, uint64_t count, uint32_t *parents) {
  for (uint64_t k = 0; k < count; k++) parents[k] = parent_of(all->shard, first + k);
}

/* Copies `count` states of the current level of the first shard. */
void search_level(const Search *all, uint64_t first, uint64_t count, uint8_t *states) {
#ifdef FINGERPRINTS
  memcpy(states, all->shard->now + (first - all->shard->level) * STATE_BYTES, count * STATE_BYTES);
#else
  search_keys(all, first, count, states);
#endif
}

/* ---- for a caller that stores the states itself, on disk */

/* Frees all states of the first shard. */
void search_forget(Search *all) { forget(all->shard); }

/* Replaces the level by these states, numbered from `first` on. */
void search_give(Search *all, const uint8_t *states, uint64_t first, uint64_t count) {
  Shard *w = all->shard;
  w->given = states;
  w->level = w->judged = w->expanded = first;
  w->end = first + count;
}

/* Expands the level; returns the number of waiting letters. */
uint64_t search_post(Search *all) {
  Shard *w = all->shard;
  expand(w, w, w->expanded, w->end);
  w->expanded = w->end;
  return all->shard->out->count;
}

/* Returns the waiting letters and empties the outbox. */
const Letter *search_letters(Search *all) {
  all->shard->out->count = 0;
  return all->shard->out->letters;
}

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

#include "partition.h"
#include "transitions.h"
