/* The hash set of a shard: maps hashes to indices of states; `runtime.c` stores the keys.

   A bucket is one cache line. Buckets are ordered by the first bits of the hash (the prefix). A
   state is in the first bucket with room, from its home bucket on, and the last 16 bits of the prefix
   are its tag. The position of the bucket implies the other bits of the prefix, unless a state is far
   from its home. So the set grows in place, in one sweep from the last bucket to the first, without
   reading keys. A sweep is cheap. With fingerprints, where the slots are half of the memory, the set
   therefore grows often and stays 79 to 85 % full.

   In a small set a tag and a bucket do not determine the prefix, so it is rebuilt from the keys. The
   prefix has 28 bits at first. Among a billion states four have the same 28 bits, and the search would
   compare each state with the keys of four others. So a set that is eight times as large gets three
   more bits, and is rebuilt from the keys once more. */

#ifdef FINGERPRINTS
#define SLOTS_A_STATE 1.27 /* after a sweep */
#else
#define SLOTS_A_STATE 1.6
#endif

#ifndef PREFIX
#define PREFIX 28 /* bits of a hash that order the buckets at first */
#endif

enum {
  WIDER_PREFIX = 3, /* bits that a larger set adds to the prefix, up to */
  MOST_PREFIX = 34, /* which multiplied by the number of buckets fits into 64 bits */
  SLOTS = 10,  /* per bucket */
  TAG = 16,    /* bits of the prefix that a slot stores */
  REACH = 128, /* a state at this distance from its home bucket is far */
  BATCH = 64,  /* states that a rebuild inserts together */
};

#define NOWHERE UINT32_MAX /* the index of a state that is not in the set */

struct Bucket { uint16_t tag[SLOTS]; uint32_t used, index[SLOTS]; };

static inline uint64_t prefix_of(const Shard *w, uint64_t h) { return h >> (64 - w->prefix); }
static inline uint16_t tag_of(uint64_t prefix) { return prefix & ((1 << TAG) - 1); }
static inline uint64_t home_of(const Shard *w, uint64_t prefix) { return prefix * w->size >> w->prefix; }

static inline uint64_t after(const Shard *w, uint64_t bucket) {
  return bucket + 1 < w->size + REACH ? bucket + 1 : 0;
}

static inline void look_ahead(const Shard *w, uint64_t h) {
  __builtin_prefetch(w->buckets + home_of(w, prefix_of(w, h)), 1);
}

/* Inserts a state that is not in the set into the first bucket with room. */
static inline void put_in(Shard *w, uint64_t prefix, uint32_t index) {
  uint64_t bucket = home_of(w, prefix), away = 0;
  for (; w->buckets[bucket].used == SLOTS; bucket = after(w, bucket)) away++;
  Bucket *b = w->buckets + bucket;
  b->tag[b->used] = tag_of(prefix);
  b->index[b->used++] = index;
  w->far |= away >= REACH;
}

/* Rebuilds the hash set from the keys. */
static void put_in_all(Shard *w) {
  memset(w->buckets, 0, (w->size + REACH) * sizeof(Bucket));
  w->far = 0;
  for (uint64_t start = 0; start < w->count; start += BATCH) {
    uint64_t h[BATCH], n = w->count - start < BATCH ? w->count - start : BATCH;
    for (uint64_t k = 0; k < n; k++) look_ahead(w, h[k] = hash_of_key(w, start + k));
    for (uint64_t k = 0; k < n; k++) put_in(w, prefix_of(w, h[k]), start + k);
  }
}

/* Reinserts every state of a bucket of the smaller set. A state is less than REACH buckets beyond its
   home, so its prefix is the largest one with its tag whose home is not after this bucket. */
static void put_again(Shard *w, const Bucket *here, uint64_t bucket, uint64_t smaller) {
  uint64_t last = (((bucket + 1) << w->prefix) + smaller - 1) / smaller - 1;
  for (uint32_t k = 0; k < here->used; k++)
    put_in(w, last - tag_of(last - here->tag[k]), here->index[k]);
}

/* Moves all states, from the last bucket to the first: a state moves only to buckets that the sweep
   has passed. In the first buckets a state may stay or move back, so these are emptied before. */
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

/* Returns how many buckets a set exceeds if a tag and a bucket determine a prefix of so many bits. */
static uint64_t least_buckets(int prefix) { return (uint64_t)(REACH + 1) << (prefix - TAG); }

/* Makes room for so many states; returns false if there is no memory. */
static int has_buckets(Shard *w, uint64_t states) {
  if (states * 20 <= w->size * SLOTS * 17) return 1;
  uint64_t smaller = w->size;
  int can_sweep = smaller > least_buckets(w->prefix) && !w->far;
  uint64_t size = states / SLOTS * (can_sweep ? SLOTS_A_STATE : 2) + 1024;
  w->buckets = grown(w, w->buckets, (size + REACH) * sizeof(Bucket));
  if (w->found.failed) return 0;
  use_huge_pages(w->buckets);
  w->size = size;
  if (w->prefix < MOST_PREFIX && size > least_buckets(w->prefix + WIDER_PREFIX)) {
    w->prefix += WIDER_PREFIX;
    can_sweep = 0;
  }
  if (can_sweep) sweep(w, smaller);
  else put_in_all(w);
  return 1;
}

static uint64_t bytes_of_buckets(const Shard *w) {
  return w->buckets ? (w->size + REACH) * sizeof(Bucket) : 0;
}

/* Returns the slots of a bucket with this tag, as a bit set. */
static inline uint32_t slots_of(const Bucket *b, uint16_t tag) {
  uint32_t same = 0;
#ifdef __SSE2__
  __m128i wanted = _mm_set1_epi16(tag), half[2];
  memcpy(half, b, sizeof half); /* and a part of `index`, which is masked out */
  same = _mm_movemask_epi8(
      _mm_packs_epi16(_mm_cmpeq_epi16(half[0], wanted), _mm_cmpeq_epi16(half[1], wanted)));
#else
  for (int slot = 0; slot < SLOTS; slot++) same |= (uint32_t)(b->tag[slot] == tag) << slot;
#endif
  return same & ((1u << b->used) - 1);
}

/* Returns the index of a state, or NOWHERE. */
static inline uint32_t index_of(const Shard *w, const Letter *letter) {
  uint64_t prefix = prefix_of(w, letter->hash);
  for (uint64_t bucket = home_of(w, prefix);; bucket = after(w, bucket)) {
    const Bucket *b = w->buckets + bucket;
    for (uint32_t may = slots_of(b, tag_of(prefix)); may; may &= may - 1)
      if (is_key_of(w, b->index[__builtin_ctz(may)], letter)) return b->index[__builtin_ctz(may)];
    if (b->used < SLOTS) return NOWHERE;
  }
}
