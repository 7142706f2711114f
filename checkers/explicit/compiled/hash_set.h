/* The set in which a shard finds its states: their indices by hash; `runtime.c` has the keys.

   It is buckets of a cache line, ordered by the first 28 bits of the hash. A state is in the first
   bucket from its own on that had room, with the last 16 of those bits as its tag. Where a bucket
   stands says the others, unless a state is far from its own: so the set grows in place, in one
   sweep from its end to its start, and no key is read. A sweep costs little, so among fingerprints,
   where its slots are half of what is kept, the set grows often and stays 79 to 85 % full.

   A small set, of whose buckets a tag does not say enough, is made anew from the keys. */

#ifdef FINGERPRINTS
#define SLOTS_A_STATE 1.27 /* of a hash set that was just swept */
#else
#define SLOTS_A_STATE 1.6
#endif

#ifndef PREFIX
#define PREFIX 28 /* bits of a hash that order buckets */
#endif

enum {
  SLOTS = 10,  /* of a bucket */
  TAG = 16,    /* bits of the prefix that are kept */
  REACH = 128, /* buckets that a state may be away from its own, or it is far */
  BATCH = 64,  /* states that are taken into a new hash set at a time */
};

struct Bucket { uint16_t tag[SLOTS]; uint32_t used, index[SLOTS]; };

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
  if (states * 20 <= w->size * SLOTS * 17) return 1;
  uint64_t smaller = w->size;
  int can_sweep = smaller > (REACH + 1) << (PREFIX - TAG) && !w->far;
  uint64_t size = states / SLOTS * (can_sweep ? SLOTS_A_STATE : 2) + 1024;
  w->buckets = grown(w, w->buckets, (size + REACH) * sizeof(Bucket));
  if (w->found.failed) return 0;
  w->size = size;
  if (can_sweep) sweep(w, smaller);
  else put_in_all(w);
  return 1;
}

/* In which slots of its bucket a state may be that has this tag. */
static inline uint32_t slots_of(const Bucket *b, uint16_t tag) {
  uint32_t same = 0;
#ifdef __SSE2__
  __m128i wanted = _mm_set1_epi16(tag), half[2];
  memcpy(half, b, sizeof half); /* and some of `index`, which is masked out */
  same = _mm_movemask_epi8(
      _mm_packs_epi16(_mm_cmpeq_epi16(half[0], wanted), _mm_cmpeq_epi16(half[1], wanted)));
#else
  for (int slot = 0; slot < SLOTS; slot++) same |= (uint32_t)(b->tag[slot] == tag) << slot;
#endif
  return same & ((1u << b->used) - 1);
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
    for (uint32_t may = slots_of(b, tag_of(prefix)); may; may &= may - 1)
      if (is_key_of(w, b->index[__builtin_ctz(may)], letter)) return 1;
    if (b->used < SLOTS) return 0;
  }
}
