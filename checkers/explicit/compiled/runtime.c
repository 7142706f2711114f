/* Breadth-first search over the states of one spec, a level at a time.

   States live in shards; the hash of a state says in which. A shard keeps its states in the order
   in which they were found, so that a level is a range of them and needs no queue: `keys` (the
   stored state, or its fingerprint), `parents`, and a hash set of their indices. Each round the shards, a thread each, expand some of their level into letters for all
   shards, wait for each other, and take in the letters for them, those of shard 0 first: what is
   found, and in which order, depends on the number of shards and on nothing else.

   States are looked at in blocks: `cells` holds a byte of each in a row, so that one instruction
   tests a cell of many, and a set of bits says which of them a guard or a claim leaves. What is born
   of a block is set in order again before it is posted.

   A state's number is its index in its shard times the number of shards, plus its shard. The caller
   judges a level, expands it, goes on to the next, all in slices, and reads `Found` between them.

   The hash set is buckets of a cache line, ordered by the first 28 bits of the hash. A state is in
   the first bucket from its own on that had room, with the last 16 of those bits as its tag. Where a
   bucket stands says the others, unless a state is far from its own: so the set grows in place, in
   one sweep from its end to its start, and no key is read.

   -DFINGERPRINTS keeps 64 bits of hash in place of a state; -DCOVERAGE counts false conjuncts;
   -DHASH_BITS=n makes hashes that often collide, -DPREFIX=n hash sets that soon are swept, for
   tests. */

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "sizes.h"

#ifdef FINGERPRINTS
#define KEY_BYTES 8
#define SLOTS_A_STATE 1.4 /* of a hash set that has just grown */
#else
#define KEY_BYTES STATE_BYTES
#define SLOTS_A_STATE 1.6
#endif

#ifndef PREFIX
#define PREFIX 28 /* bits of a hash that order buckets */
#endif

#define BLOCK 16 /* states that are looked at together */

enum {
  SHARDS = 16,      /* at most */
  ROUND = 512,      /* states expanded between two meetings */
  AHEAD = 12,       /* letters that are looked up before their turn */
  RECENT_BITS = 11, /* of a hash: as many letters are remembered as a cache has room for */
  PAGES = 1 << 16,  /* bytes of the level that are given back at a time: whole pages */
  BATCH = 64,       /* states that are taken into a new hash set at a time */
  SLOTS = 10,       /* of a bucket */
  TAG = 16,         /* bits of these that are kept */
  REACH = 48,       /* buckets that a state may be away from its own, or it is far */
};

typedef struct { uint64_t word[WORDS]; } Packed;
typedef struct { uint16_t tag[SLOTS]; uint32_t used, index[SLOTS]; } Bucket;
typedef struct { Packed state; uint64_t hash; uint64_t parent; } Letter;
typedef struct { Packed state; uint32_t action, next; } Born; /* the next one of the same state */
typedef int8_t Many __attribute__((vector_size(BLOCK)));       /* a cell of each state of a block */
typedef uint16_t Wide __attribute__((vector_size(BLOCK)));
typedef uint32_t Bits;                                         /* some states of a block */
typedef struct { Letter *letters; uint64_t count, room; } Outbox;

/* Numbers of states are kept plus one: 0 is none. One array may be empty, hence the `+ 1`. */
typedef struct {
  uint64_t generated, stuck, first_stuck, undefined, undefined_step, failed;
  uint64_t taken[ACTIONS + 1], missed[CONJUNCTS + 1];
  uint64_t open[CLAIMS + 1], broken[CLAIMS + 1], broken_by[CLAIMS + 1][WORDS];
  uint64_t seen[WITNESSES + 1], first_seen[WITNESSES + 1];
} Found;

typedef struct Search Search;
typedef struct {
  Many cells[CELLS + 1];                      /* of a block of states, which are */
  Packed packed[BLOCK];
  Born *born;                                 /* from 1 on, by */
  uint32_t births, first[BLOCK], last[BLOCK];
  uint32_t reading;                           /* the state of the block that is read, for `inside` */
  Bits undefined;                             /* in which states a term has no value */
  Search *search;
  uint64_t number;
  uint8_t *keys;
  uint32_t *parents;
  uint64_t count, room;
  Bucket *buckets;
  uint64_t size;                              /* of the hash set: so many, and REACH to spare */
  int far;                                    /* some state is far from its own bucket */
  uint64_t level, end, judged, expanded;      /* the level is [level, end) */
  const uint8_t *given;                       /* its states, where the caller keeps them */
  uint8_t *now, *next;                        /* its states, where keys are fingerprints */
  uint64_t next_room, left;                   /* `now` is given back up to `left`, in bytes */
  Packed recent[1 << RECENT_BITS];            /* the last letter of each such hash */
  Outbox out[SHARDS];
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
  uint64_t mask = (uint64_t)((1u << WIDTH[cell]) - 1) << SHIFT[cell];
  p->word[WORD[cell]] = (p->word[WORD[cell]] & ~mask) | (uint64_t)value << SHIFT[cell];
}

/* Murmur3's finalizer, a word after the other: a bijection of each word. */
static inline uint64_t hash(const Packed *p) {
  uint64_t h = 0x9e3779b97f4a7c15u;
  for (int k = 0; k < WORDS; k++) {
    h = (h ^ p->word[k]) + 0x9e3779b97f4a7c15u * k;
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    h ^= h >> 33;
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

static void *grown(Shard *w, void *old, uint64_t bytes) {
  void *made = realloc(old, bytes);
  if (!made) w->found.failed = 1;
  return made ? made : old;
}

/* What was expanded is read no more: its pages go to who wants them, so a level and the next one
   take little more than the larger. */
static void give_back(Shard *w) {
  uintptr_t from = ((uintptr_t)w->now + w->left + PAGES - 1) & -PAGES;
  uintptr_t to = ((uintptr_t)w->now + (w->expanded - w->level) * STATE_BYTES) & -PAGES;
  if (!w->now || to <= from) return;
  madvise((void *)from, to - from, MADV_DONTNEED);
  w->left = to - (uintptr_t)w->now;
}

static int has_room(Shard *w, uint64_t more) {
  if (w->count + more <= w->room) return 1;
  uint64_t room = (w->count + more) * 5 / 4 + 4096;
  w->keys = grown(w, w->keys, room * KEY_BYTES);
  w->parents = grown(w, w->parents, room * sizeof *w->parents);
  if (w->found.failed) return 0;
  w->room = room;
  return 1;
}

/* ---- the hash set */

static inline uint64_t prefix_of(uint64_t h) { return h >> (64 - PREFIX); }
static inline uint16_t tag_of(uint64_t prefix) { return prefix & ((1 << TAG) - 1); }
static inline uint64_t home_of(const Shard *w, uint64_t prefix) { return prefix * w->size >> PREFIX; }

static inline uint64_t after(const Shard *w, uint64_t bucket) {
  return bucket + 1 < w->size + REACH ? bucket + 1 : 0;
}

static inline void look_ahead(const Shard *w, uint64_t h) {
  __builtin_prefetch(w->buckets + home_of(w, prefix_of(h)), 1);
}

/* Puts a state that is not in the set into the first bucket that has room. */
static inline void put_in(Shard *w, uint64_t prefix, uint32_t index) {
  uint64_t bucket = home_of(w, prefix), away = 0;
  for (; w->buckets[bucket].used == SLOTS; bucket = after(w, bucket)) away++;
  Bucket *b = w->buckets + bucket;
  b->tag[b->used] = tag_of(prefix);
  b->index[b->used++] = index;
  w->far |= away >= REACH;
}

static inline uint64_t hash_of_key(const Shard *w, uint64_t index) {
#ifdef FINGERPRINTS
  uint64_t h;
  return memcpy(&h, w->keys + index * 8, 8), h;
#else
  Packed p = load(w->keys + index * STATE_BYTES);
  return hash(&p);
#endif
}

/* The hash set anew, from the keys. */
static void put_in_all(Shard *w) {
  memset(w->buckets, 0, (w->size + REACH) * sizeof(Bucket));
  w->far = 0;
  for (uint64_t start = 0; start < w->count; start += BATCH) {
    uint64_t h[BATCH], n = w->count - start < BATCH ? w->count - start : BATCH;
    for (uint64_t k = 0; k < n; k++) look_ahead(w, h[k] = hash_of_key(w, start + k));
    for (uint64_t k = 0; k < n; k++) put_in(w, prefix_of(h[k]), start + k);
  }
}

/* Every state of a bucket to its own, in a set that was smaller. It was at most REACH beyond its own,
   so its prefix is the largest with its tag that belongs no further than here. */
static void put_again(Shard *w, const Bucket *here, uint64_t bucket, uint64_t smaller) {
  uint64_t last = (((bucket + 1) << PREFIX) + smaller - 1) / smaller - 1;
  for (uint32_t k = 0; k < here->used; k++)
    put_in(w, last - tag_of(last - here->tag[k]), here->index[k]);
}

/* From the last bucket to the first: all that is put is put where the sweep has been. At the start,
   where a state may stay as it is or even go back, all buckets are emptied before. */
static void sweep(Shard *w, uint64_t smaller) {
  uint64_t early = (REACH + 2) * w->size / (w->size - smaller) + 2;
  Bucket *first = malloc(early * sizeof *first);
  if (!first || early > smaller) {
    put_in_all(w);
  } else {
    memset(w->buckets + smaller + REACH, 0, (w->size - smaller) * sizeof(Bucket));
    for (uint64_t bucket = smaller + REACH; bucket-- > early;) {
      Bucket here = w->buckets[bucket];
      w->buckets[bucket].used = 0;
      put_again(w, &here, bucket, smaller);
    }
    memcpy(first, w->buckets, early * sizeof *first);
    memset(w->buckets, 0, early * sizeof *first);
    for (uint64_t bucket = 0; bucket < early; bucket++)
      put_again(w, first + bucket, bucket, smaller);
  }
  free(first);
}

/* Makes a hash set that has room for so many states, if it has none. */
static int has_buckets(Shard *w, uint64_t states) {
  if (states * 4 <= w->size * SLOTS * 3) return 1;
  uint64_t smaller = w->size, size = states / SLOTS * (states >> (PREFIX - 8) == 0 ? 4 : SLOTS_A_STATE) + 1024;
  w->buckets = grown(w, w->buckets, (size + REACH) * sizeof(Bucket));
  if (w->found.failed) return 0;
  w->size = size;
  if (smaller > (REACH + 1) << (PREFIX - TAG) && !w->far) sweep(w, smaller);
  else put_in_all(w);
  return 1;
}

/* Where in its bucket a state may be that has this tag, from a slot on. */
static inline uint32_t slot_of(const Bucket *b, uint16_t tag, uint32_t slot) {
  while (slot < b->used && b->tag[slot] != tag) slot++;
  return slot;
}

static inline int is_key_of(const Shard *w, uint64_t index, const Letter *letter) {
#ifdef FINGERPRINTS
  return hash_of_key(w, index) == letter->hash;
#else
  Packed p = load(w->keys + index * STATE_BYTES);
  return equal(&p, &letter->state);
#endif
}

static inline int is_known(const Shard *w, const Letter *letter) {
  uint64_t prefix = prefix_of(letter->hash);
  for (uint64_t bucket = home_of(w, prefix);; bucket = after(w, bucket)) {
    const Bucket *b = w->buckets + bucket;
    for (uint32_t k = 0; (k = slot_of(b, tag_of(prefix), k)) < b->used; k++)
      if (is_key_of(w, b->index[k], letter)) return 1;
    if (b->used < SLOTS) return 0;
  }
}

static void insert(Shard *w, const Letter *letter) {
  if (is_known(w, letter)) return;
  put_in(w, prefix_of(letter->hash), w->count);
#ifdef FINGERPRINTS
  memcpy(w->keys + w->count * 8, &letter->hash, 8);
#else
  memcpy(w->keys + w->count * STATE_BYTES, &letter->state, STATE_BYTES);
#endif
  w->parents[w->count] = letter->parent;
#ifdef FINGERPRINTS
  uint64_t after = w->count - w->end;
  if ((after + 1) * STATE_BYTES > w->next_room) {
    w->next_room = (after + 1024) * STATE_BYTES * 5 / 4;
    w->next = grown(w, w->next, w->next_room);
  }
  memcpy(w->next + after * STATE_BYTES, &letter->state, STATE_BYTES);
#endif
  w->count++;
}

static void take_in(Shard *w, Outbox *box) {
  const Letter *l = box->letters;
  uint64_t n = box->count;
  if (!n || !has_room(w, n)) return;
  if (!has_buckets(w, w->count + n)) return;
  for (uint64_t k = 0; k < n && k < AHEAD; k++) look_ahead(w, l[k].hash);
  for (uint64_t k = 0; k < n && !w->found.failed; k++) {
    if (k + AHEAD < n) look_ahead(w, l[k + AHEAD].hash);
    if (k + AHEAD / 2 < n) {  /* its bucket is here by now: fetch the key of who may be it */
      uint64_t prefix = prefix_of(l[k + AHEAD / 2].hash);
      const Bucket *b = w->buckets + home_of(w, prefix);
      uint32_t slot = slot_of(b, tag_of(prefix), 0);
      if (slot < b->used) __builtin_prefetch(w->keys + (uint64_t)b->index[slot] * KEY_BYTES);
    }
    insert(w, l + k);
  }
  box->count = 0;
}

/* Most states are reached again soon after they were found: of these no letter is sent. */
static inline Packed *recent_of(Shard *w, uint64_t h) { return w->recent + (h >> (64 - RECENT_BITS)); }

/* No place begins with a state that belongs there: not zeros where the state of zeros does. */
static void remember_nothing(Shard *w) {
  Packed *own = recent_of(w, hash(w->recent));
  while (own == recent_of(w, hash(own))) own->word[0]++;
}

static void post(Shard *w, const Packed *state, uint64_t parent) {
  uint64_t h = hash(state), shards = w->search->shards;
  Packed *recent = recent_of(w, h);
  if (equal(recent, state)) return;
  *recent = *state;
  Outbox *box = w->out + (shards == 1 ? 0 : ((h >> 8 & 0xffff) * shards >> 16));
  if (box->count == box->room) {
    box->letters = grown(w, box->letters, (box->room + 4096) * 2 * sizeof *box->letters);
    if (w->found.failed) return;
    box->room = (box->room + 4096) * 2;
  }
  box->letters[box->count++] = (Letter){*state, h, parent};
}

/* ---- what the spec says, of a block of states */

#define BIT(k) ((Bits)1 << (k))

/* Each of some states in turn, as `k`. */
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

/* In which lanes a truth is true. */
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

static inline void emit(Shard *w, uint32_t k, const Packed *to, int action) {
  uint32_t birth = ++w->births;
  w->born[birth] = (Born){*to, action, 0};
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

static const uint8_t *states_of_level(const Shard *w) {
  if (w->given) return w->given;
#ifdef FINGERPRINTS
  return w->now;
#else
  return w->keys + w->level * STATE_BYTES;
#endif
}

/* Unpacks a block of stored states, at most `most` of them. */
static Bits read_block(Shard *w, uint64_t start, uint64_t most) {
  const uint8_t *stored = states_of_level(w) + (start - w->level) * STATE_BYTES;
  uint64_t n = w->end - start;
  if (n > most) n = most;
  if (n > BLOCK) n = BLOCK;
  union { uint8_t one[STATE_BYTES][BLOCK]; Wide all[STATE_BYTES]; } bytes;
  for (uint64_t k = 0; k < n; k++, stored += STATE_BYTES) {
    w->packed[k] = load(stored);
    for (int byte = 0; byte < STATE_BYTES; byte++) bytes.one[byte][k] = stored[byte];
  }
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
    Bits some = read_block(w, w->judged, quota);
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

/* Posts what was born of a state of the block. */
static void post_born(Shard *w, uint32_t k, uint64_t number) {
  w->reading = k;
  if (!w->first[k] && !w->found.stuck++) w->found.first_stuck = number + 1;
  for (uint32_t birth = w->first[k]; birth; birth = w->born[birth].next) {
    const Born *born = w->born + birth;
    w->found.generated++;
    w->found.taken[born->action]++;
    if (JUDGES_STEPS && !equal(w->packed + k, &born->state))
      judge_step(w, k, number + 1, &born->state);
    post(w, &born->state, number);
  }
}

static uint64_t expand_some(Shard *w, uint64_t quota) {
  while (quota && w->expanded < w->end && !w->found.undefined) {
    Bits some = read_block(w, w->expanded, quota);
    w->births = 0;
    memset(w->first, 0, sizeof w->first);
    successors(w, some);
    FOR_EACH(k, some) {
      uint64_t number = number_of(w, w->expanded++);
      if (!(w->undefined & BIT(k))) post_born(w, k, number);
      if (!(w->undefined & BIT(k))) continue;
      w->found.undefined = number + 1;
      break;
    }
    quota -= __builtin_popcount(some);
  }
  return quota;
}

/* ---- threads: shard 0 is the caller's */

static void meet(Search *all) {
  if (all->shards == 1) return;
  pthread_mutex_lock(&all->mutex);
  uint64_t turn = all->turn;
  if (++all->waiting == all->shards) {
    all->waiting = 0;
    all->turn++;
    pthread_cond_broadcast(&all->turned);
  }
  while (turn == all->turn) pthread_cond_wait(&all->turned, &all->mutex);
  pthread_mutex_unlock(&all->mutex);
}

static void *judge_shard(void *arg) {
  Shard *w = arg;
  judge_some(w, w->search->quota);
  return NULL;
}

static void *expand_shard(void *arg) {
  Shard *w = arg;
  Search *all = w->search;
  for (uint64_t done = 0; done < all->quota; done += ROUND) {
    expand_some(w, ROUND);
    give_back(w);
    meet(all);
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

/* ---- what is called from outside */

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
    remember_nothing(all->shard + k);
  }
  return all;
}

void search_close(Search *all) {
  for (uint64_t k = 0; k < all->shards; k++) {
    Shard *w = all->shard + k;
    free(w->keys), free(w->parents), free(w->buckets), free(w->now), free(w->next);
    free(w->born);
    for (uint64_t to = 0; to < all->shards; to++) free(w->out[to].letters);
  }
  pthread_mutex_destroy(&all->mutex);
  pthread_cond_destroy(&all->turned);
  free(all);
}

/* An initial state; its parent is all ones. */
void search_start(Search *all, const uint8_t *stored) {
  Packed p = load(stored);
  post(all->shard, &p, UINT32_MAX);
  for (uint64_t k = 0; k < all->shards; k++) take_in(all->shard + k, all->shard->out + k);
}

/* The states found since the last call are the level from now on: how many they are. */
uint64_t search_next_level(Search *all) {
  uint64_t states = 0;
  for (uint64_t k = 0; k < all->shards; k++) {
    Shard *w = all->shard + k;
    free(w->now);
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

uint64_t search_count(const Search *all) {
  uint64_t count = 0;
  for (uint64_t k = 0; k < all->shards; k++) count += all->shard[k].count;
  return count;
}

uint64_t search_queue(const Search *all) {
  uint64_t queue = 0;
  for (uint64_t k = 0; k < all->shards; k++) queue += all->shard[k].count - all->shard[k].expanded;
  return queue;
}

Found *search_found(Search *all, uint64_t shard) { return &all->shard[shard].found; }

uint64_t search_parent(const Search *all, uint64_t number) {
  return all->shard[number % all->shards].parents[number / all->shards];
}

const uint8_t *search_key(const Search *all, uint64_t number) {
  return all->shard[number % all->shards].keys + number / all->shards * KEY_BYTES;
}

/* What is kept of the first shard's states, and their parents. */
const uint8_t *search_keys(const Search *all) { return all->shard->keys; }
const uint32_t *search_parents(const Search *all) { return all->shard->parents; }

/* The current level, where keys are fingerprints; where they are states, it is among them. */
const uint8_t *search_level(const Search *all) { return states_of_level(all->shard); }

/* ---- for a caller that keeps the states itself, on disk */

/* No state is kept here any more. */
void search_forget(Search *all) {
  Shard *w = all->shard;
  free(w->keys), free(w->parents), free(w->buckets), free(w->now), free(w->next);
  w->keys = w->now = w->next = NULL;
  w->parents = NULL, w->buckets = NULL;
}

/* The level is these states for now, numbered from `first` on. */
void search_give(Search *all, const uint8_t *states, uint64_t first, uint64_t count) {
  Shard *w = all->shard;
  w->given = states;
  w->level = w->judged = w->expanded = first;
  w->end = first + count;
}

/* Expands the level, and says how many letters wait. */
uint64_t search_post(Search *all) {
  expand_some(all->shard, UINT64_MAX);
  return all->shard->out->count;
}

/* The letters that wait; they are as good as read. */
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
