/* A part of the hash set: maps hashes to numbers of states, whose keys the store has.

   With several threads each has a part, which only this thread changes; the last bits of a hash decide
   to which part a state belongs. In a round a new state has no number yet. Its slot has the number of
   stored states plus the index of the state in `fresh`, until the states of the round are numbered.

   A bucket is one cache line. Buckets are ordered by the first bits of the hash (the prefix). A
   state is in the first bucket with room, from its home bucket on, and the last 16 bits of the prefix
   are its tag. The position of the bucket implies the other bits of the prefix, unless a state is far
   from its home. So the set grows in place, in one sweep from the last bucket to the first, without
   reading keys. A sweep is cheap. With fingerprints, where the slots are half of the memory, the set
   therefore grows often and stays 79 to 85 % full.

   In a small set a tag and a bucket do not determine the prefix, so it is rebuilt from the keys. The
   prefix has 22 bits at first, or fewer with several threads. Among sixteen million states four have the
   same 22 bits, and the search would compare each state with the keys of four others. So a set that is
   eight times as large gets three more bits, and is rebuilt from the keys once more. */

#ifdef FINGERPRINTS
#define SLOTS_A_STATE 1.27 /* after a sweep */
#else
#define SLOTS_A_STATE 1.6
#endif

#ifndef PREFIX
#define PREFIX 22 /* bits of a hash that order the buckets at first */
#endif

enum {
  WIDER_PREFIX = 3, /* bits that a larger set adds to the prefix, up to */
  MOST_PREFIX = 34, /* which multiplied by the number of buckets fits into 64 bits */
  SLOTS = 10,  /* per bucket */
  TAG = 16,    /* bits of the prefix that a slot stores */
  REACH = 128, /* a state at this distance from its home bucket is far */
  AHEAD = 20,  /* states whose slots are prefetched */
};

#define NOWHERE UINT32_MAX /* the number of a state that is not in the set */

typedef struct { uint64_t size; int prefix, swept; } Growth; /* swept: grows without reading keys */

struct Bucket { uint16_t tag[SLOTS]; uint32_t used, number[SLOTS]; };

INLINE uint64_t part_of(uint64_t h, uint64_t parts) { return (h & 0xffff) * parts >> 16; }
INLINE uint64_t prefix_of(const Set *set, uint64_t h) { return h >> (64 - set->prefix); }
INLINE uint16_t tag_of(uint64_t prefix) { return prefix & ((1 << TAG) - 1); }
INLINE uint64_t home_of(const Set *set, uint64_t prefix) {
  return prefix * set->size >> set->prefix;
}

INLINE uint64_t after(const Set *set, uint64_t bucket) {
  return bucket + 1 < set->size + REACH ? bucket + 1 : 0;
}

INLINE void look_ahead(const Set *set, uint64_t h) {
  __builtin_prefetch(set->buckets + home_of(set, prefix_of(set, h)), 1);
}

/* Inserts a state that is not in the set into the first bucket with room; returns the place of its
   number. */
INLINE uint32_t *put_in(Set *set, uint64_t prefix, uint32_t number) {
  uint64_t bucket = home_of(set, prefix), away = 0;
  for (; set->buckets[bucket].used == SLOTS; bucket = after(set, bucket)) away++;
  Bucket *b = set->buckets + bucket;
  b->tag[b->used] = tag_of(prefix);
  b->number[b->used] = number;
  set->far |= away >= REACH;
  return b->number + b->used++;
}

/* Returns the first prefix of a part: with twice as many parts, a part has half of the states, and needs
   one bit less. */
static int first_prefix(uint64_t parts) {
  int prefix = PREFIX;
  for (uint64_t k = 1; k < parts && prefix > TAG; k *= 2) prefix--;
  return prefix;
}

static void empty(Set *set) {
  memset(set->buckets, 0, (set->size + REACH) * sizeof(Bucket));
  set->far = 0;
}

/* Inserts those states that belong to this part, of `count` states that begin with `first`. */
static void put_in_hashed(Set *set, const uint64_t *hashes, uint64_t first, uint64_t count) {
  for (uint64_t start = 0; start < count; start += BATCH) {
    uint64_t end = count - start < BATCH ? count : start + BATCH, n = 0;
    uint32_t own[BATCH];
    for (uint64_t k = start; k < end; k++) {
      own[n] = k;
      n += part_of(hashes[k], set->parts) == set->number;
    }
    for (uint64_t k = 0; k < n; k++) look_ahead(set, hashes[own[k]]);
    for (uint64_t k = 0; k < n; k++) put_in(set, prefix_of(set, hashes[own[k]]), first + own[k]);
  }
}

/* Rebuilds a part of the hash set from the keys. */
static void put_in_all(const Store *s, Set *set) {
  empty(set);
  for (uint64_t start = 0; start < s->count; start += BATCH) {
    uint64_t hashes[BATCH], n = s->count - start < BATCH ? s->count - start : BATCH;
    for (uint64_t k = 0; k < n; k++) hashes[k] = hash_of_key(s, start + k);
    put_in_hashed(set, hashes, start, n);
  }
}

/* Reinserts every state of a bucket of the smaller set. A state is less than REACH buckets beyond its
   home, so its prefix is the largest one with its tag whose home is not after this bucket. */
static void put_again(Set *set, const Bucket *here, uint64_t bucket, uint64_t smaller) {
  uint64_t last = (((bucket + 1) << set->prefix) + smaller - 1) / smaller - 1;
  for (uint32_t k = 0; k < here->used; k++)
    put_in(set, last - tag_of(last - here->tag[k]), here->number[k]);
}

/* Moves all states, from the last bucket to the first: a state moves only to buckets that the sweep
   has passed. In the first buckets a state may stay or move back, so these are emptied before. */
static void sweep(const Store *s, Set *set, uint64_t smaller) {
  uint64_t early = (REACH + 2) * set->size / (set->size - smaller) + 2;
  Bucket *first = malloc(early * sizeof *first);
  if (!first || early > smaller) {
    put_in_all(s, set);
  } else {
    memset(set->buckets + smaller + REACH, 0, (set->size - smaller) * sizeof(Bucket));
    for (uint64_t bucket = smaller + REACH; bucket-- > early;) {
      Bucket here = set->buckets[bucket];
      set->buckets[bucket].used = 0;
      put_again(set, &here, bucket, smaller);
    }
    memcpy(first, set->buckets, early * sizeof *first);
    memset(set->buckets, 0, early * sizeof *first);
    for (uint64_t bucket = 0; bucket < early; bucket++)
      put_again(set, first + bucket, bucket, smaller);
  }
  free(first);
}

/* Returns how many buckets a set exceeds if a tag and a bucket determine a prefix of so many bits. */
static uint64_t least_buckets(int prefix) { return (uint64_t)(REACH + 1) << (prefix - TAG); }

static int is_full(const Set *set, uint64_t states) { return states * 20 > set->size * SLOTS * 17; }

/* Returns the next size of a part, for so many states. */
static Growth growth_of(const Set *set, uint64_t states) {
  Growth next = {.prefix = set->prefix, .swept = set->size > least_buckets(set->prefix) && !set->far};
  next.size = states / SLOTS * (next.swept ? SLOTS_A_STATE : 2) + 1024;
  int wider = next.prefix + WIDER_PREFIX;
  for (; wider <= MOST_PREFIX && next.size > least_buckets(wider); wider += WIDER_PREFIX) {
    next.prefix = wider;
    next.swept = 0;
  }
  return next;
}

/* Makes room, without moving a state; returns false if there is no memory. */
static int grow(Set *set, Growth next) {
  set->buckets = grown(set->failed, set->buckets, (next.size + REACH) * sizeof(Bucket));
  if (*set->failed) return 0;
  use_huge_pages(set->buckets);
  set->size = next.size, set->prefix = next.prefix;
  return 1;
}

/* Makes room for so many states; returns false if there is no memory. */
static int has_buckets(const Store *s, Set *set, uint64_t states) {
  if (!is_full(set, states)) return 1;
  uint64_t smaller = set->size;
  Growth next = growth_of(set, states);
  if (!grow(set, next)) return 0;
  if (next.swept) sweep(s, set, smaller);
  else put_in_all(s, set);
  return 1;
}

static uint64_t bytes_of_buckets(const Set *set) {
  return set->buckets ? (set->size + REACH) * sizeof(Bucket) : 0;
}

/* Returns the slots of a bucket with this tag, as a bit set. */
INLINE uint32_t slots_of(const Bucket *b, uint16_t tag) {
  uint32_t same = 0;
#ifdef __SSE2__
  __m128i wanted = _mm_set1_epi16(tag), half[2];
  memcpy(half, b, sizeof half); /* and a part of `number`, which is masked out */
  same = _mm_movemask_epi8(
      _mm_packs_epi16(_mm_cmpeq_epi16(half[0], wanted), _mm_cmpeq_epi16(half[1], wanted)));
#else
  for (int slot = 0; slot < SLOTS; slot++) same |= (uint32_t)(b->tag[slot] == tag) << slot;
#endif
  return same & ((1u << b->used) - 1);
}

/* Returns true if a slot with this number has the state of a letter. */
INLINE int is_state(const Store *s, const Set *set, uint64_t number, const Letter *letter) {
  if (number < s->count) return is_key_of(s, number, letter);
  return same_key(set->fresh[number - s->count].letter, letter);
}

/* Returns the number of a state, or NOWHERE. */
INLINE uint32_t number_of(const Store *s, const Set *set, const Letter *letter) {
  uint64_t prefix = prefix_of(set, letter->hash);
  for (uint64_t bucket = home_of(set, prefix);; bucket = after(set, bucket)) {
    const Bucket *b = set->buckets + bucket;
    for (uint32_t may = slots_of(b, tag_of(prefix)); may; may &= may - 1)
      if (is_state(s, set, b->number[__builtin_ctz(may)], letter)) return b->number[__builtin_ctz(may)];
    if (b->used < SLOTS) return NOWHERE;
  }
}

/* Prefetches the key of a candidate in a bucket that is cached, or a key that is always cached: a branch
   would often be mispredicted. */
INLINE void look_at_candidate(const Store *s, const Set *set, uint64_t h) {
  uint64_t prefix = prefix_of(set, h);
  const Bucket *b = set->buckets + home_of(set, prefix);
  uint32_t may = slots_of(b, tag_of(prefix));
  look_at_key(s, b->number[__builtin_ctz(may | 1 << (SLOTS - 1))] & -(uint32_t)(may != 0));
}
