/* The keys of a shard: what it stores of each state. `runtime.c` includes this file.

   A key is a fingerprint, or the numbers of the two halves of the state. Many states share a half: the
   10.8 million states of KIP-320 with 17 bytes have 31,493 first halves and 71,956 second halves. A
   shard stores each half once, and numbers the halves in the order in which they were found. The two
   numbers of a state are stored in as few bits as the largest numbers need, rounded up to bytes. All
   keys are written again when a number needs more bits.

   Source: Laarman, van de Pol and Weber, Parallel recursive state compression for free, 2011. */

#define HEAD ((STATE_BYTES + 1) / 2) /* bytes of the first half */
#define TAIL (STATE_BYTES - HEAD)
#define UNROLLED _Pragma("GCC unroll 8")
#define WIDER 2 /* bits */
#define SLACK 8 /* bytes after an array that is read and written in words */

/* Makes room for so many keys of `bytes` bytes; returns false if there is none. */
static int has_keys(Shard *w, uint64_t room, uint64_t bytes) {
  w->keys = grown_in(w, w->files[KEYS], w->keys, room * bytes + SLACK);
  return !w->found.failed;
}

#ifdef FINGERPRINTS

#define KEY_BYTES 8 /* of the key that a caller reads */

static inline void look_at_key(const Shard *w, uint64_t index) {
  __builtin_prefetch(w->keys + index * KEY_BYTES);
}

static inline uint64_t key_bytes(const Shard *w) { return (void)w, KEY_BYTES; }

static inline uint64_t hash_of_key(const Shard *w, uint64_t index) {
  uint64_t h;
  return memcpy(&h, w->keys + index * KEY_BYTES, KEY_BYTES), h;
}

static inline int is_key_of(const Shard *w, uint64_t index, const Letter *letter) {
  return hash_of_key(w, index) == letter->hash;
}

static inline void keep_key(Shard *w, const Letter *letter) {
  memcpy(w->keys + w->count * KEY_BYTES, &letter->hash, KEY_BYTES);
}

static uint64_t bytes_of_halves(const Shard *w) { return (void)w, 0; }

static void copy_key(const Shard *w, uint64_t index, uint8_t *to) {
  memcpy(to, w->keys + index * KEY_BYTES, KEY_BYTES);
}

#else

#define KEY_BYTES STATE_BYTES

static inline uint64_t word_of(const uint8_t *bytes) {
  uint64_t word;
  return memcpy(&word, bytes, sizeof word), word;
}

/* Returns word `k` of a half with `size` bytes. */
static inline uint64_t half_word(const uint8_t *half, int size, int k) {
  int left = size - 8 * k;
  return left < 8 ? word_of(half + 8 * k) & ((1ull << 8 * left) - 1) : word_of(half + 8 * k);
}

static inline int same_half(const uint8_t *one, const uint8_t *other, int size) {
  uint64_t differ = 0;
  UNROLLED for (int k = 0; 8 * k < size; k++) differ |= half_word(one, size, k) ^ half_word(other, size, k);
  return !differ;
}

static inline uint64_t hash_of_half(const uint8_t *half, int size) {
  uint64_t h = 0;
  UNROLLED for (int k = 0; 8 * k < size; k++) {
    h = (h ^ half_word(half, size, k)) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  return h * 0xc4ceb9fe1a85ec53u;
}

/* ---- the halves, and a hash set of their numbers plus one */

static inline uint64_t slot_of(const Halves *halves, const uint8_t *half, int size) {
  uint64_t slot = hash_of_half(half, size) >> 32 & (halves->slots - 1);
  for (uint32_t one; (one = halves->number[slot]); slot = (slot + 1) & (halves->slots - 1))
    if (same_half(halves->bytes + (uint64_t)(one - 1) * size, half, size)) break;
  return slot;
}

static void has_half(Shard *w, Halves *halves, int size) {
  if (halves->count == halves->room) {
    uint64_t room = halves->room * 5 / 4 + 1024;
    halves->bytes = grown(w, halves->bytes, room * size + SLACK);
    if (w->found.failed) return;
    halves->room = room;
  }
  if (halves->count * 3 < halves->slots * 2) return;
  uint64_t slots = halves->slots ? halves->slots * 2 : 1024;
  uint32_t *number = calloc(slots, sizeof *number);
  if (!number) w->found.failed = NO_MEMORY;
  if (!number) return;
  free(halves->number);
  halves->number = number, halves->slots = slots;
  for (uint64_t k = 0; k < halves->count; k++)
    number[slot_of(halves, halves->bytes + k * size, size)] = k + 1;
}

/* Returns the number of a half, which is added if it is new. */
static inline uint64_t number_of_half(Shard *w, Halves *halves, const uint8_t *half, int size) {
  uint64_t slot = halves->slots ? slot_of(halves, half, size) : 0;
  if (halves->slots && halves->number[slot]) return halves->number[slot] - 1;
  has_half(w, halves, size);
  if (w->found.failed) return 0;
  memcpy(halves->bytes + halves->count * size, half, size);
  halves->number[slot_of(halves, half, size)] = halves->count + 1;
  return halves->count++;
}

/* ---- the pairs of numbers */

static inline uint64_t ones(int bits) { return ((uint64_t)1 << bits) - 1; }
static inline uint64_t key_bytes(const Shard *w) { return w->pair_bytes; }
static inline uint64_t pair_of(const Shard *w, uint64_t index) {
  return word_of(w->keys + index * w->pair_bytes);
}
static inline const uint8_t *head_of(const Shard *w, uint64_t pair) {
  return w->heads.bytes + (pair & ones(w->heads.bits)) * HEAD;
}
static inline const uint8_t *tail_of(const Shard *w, uint64_t pair) {
  return w->tails.bytes + (pair >> w->heads.bits & ones(w->tails.bits)) * TAIL;
}

/* Returns the index of a state in this shard; a number above all indices if it is in another shard. */
static inline uint64_t index_in(const Shard *w, uint64_t number) {
  uint64_t shards = w->search->shards;
  if (shards == 1) return number;
  return number % shards == w->number ? number / shards : UINT64_MAX;
}

/* Writes all pairs again, with more bits for the numbers of these halves: from the last to the
   first, because a pair may need one more byte. */
static void widen(Shard *w, Halves *halves) {
  int old_bits = w->heads.bits, old_bytes = w->pair_bytes;
  int bytes = (old_bits + w->tails.bits + WIDER + 7) / 8;
  uint64_t heads = ones(old_bits), tails = ones(w->tails.bits);
  if (bytes > old_bytes && !has_keys(w, w->room, bytes)) return;
  halves->bits += WIDER;
  w->pair_bytes = bytes;
  uint64_t after = 0; /* the keys that follow, in the bytes that a key does not need */
  for (uint64_t k = w->count; k--;) {
    uint64_t pair = word_of(w->keys + k * old_bytes);
    pair = (pair & heads) | (pair >> old_bits & tails) << w->heads.bits;
    after = w->pair_bytes < 8 ? pair | after << 8 * w->pair_bytes : pair;
    memcpy(w->keys + k * w->pair_bytes, &after, sizeof after);
  }
}

/* Stores the next state. Most states have a half of their parent, whose key is cached. */
static inline void keep_key(Shard *w, const Letter *letter) {
  const uint8_t *state = (const uint8_t *)&letter->state;
  uint64_t near = index_in(w, letter->parent), pair = near < w->count ? pair_of(w, near) : 0;
  uint64_t head = pair & ones(w->heads.bits), tail = pair >> w->heads.bits & ones(w->tails.bits);
  if (near >= w->count || !same_half(w->heads.bytes + head * HEAD, state, HEAD))
    head = number_of_half(w, &w->heads, state, HEAD);
  if (near >= w->count || !same_half(w->tails.bytes + tail * TAIL, state + HEAD, TAIL))
    tail = number_of_half(w, &w->tails, state + HEAD, TAIL);
  if (head >> w->heads.bits) widen(w, &w->heads);
  if (tail >> w->tails.bits) widen(w, &w->tails);
  if (w->found.failed) return;
  pair = head | tail << w->heads.bits;
  memcpy(w->keys + w->count * w->pair_bytes, &pair, sizeof pair);
}

static inline void look_at_key(const Shard *w, uint64_t index) {
  __builtin_prefetch(w->keys + index * w->pair_bytes);
}

static inline int is_key_of(const Shard *w, uint64_t index, const Letter *letter) {
  uint64_t pair = pair_of(w, index);
  const uint8_t *state = (const uint8_t *)&letter->state;
  return same_half(head_of(w, pair), state, HEAD) && same_half(tail_of(w, pair), state + HEAD, TAIL);
}

/* Returns a state from its two halves. */
static inline Packed joined(const uint8_t *head, const uint8_t *tail) {
  Packed p = {{0}};
  UNROLLED for (int k = 0; 8 * k < HEAD; k++) p.word[k] = half_word(head, HEAD, k);
  UNROLLED for (int k = 0; 8 * k < TAIL; k++) {
    uint64_t word = half_word(tail, TAIL, k);
    int at = HEAD / 8 + k, by = HEAD % 8 * 8;
    p.word[at] |= word << by;
    if (by && at + 1 < WORDS) p.word[at + 1] |= word >> (64 - by);
  }
  return p;
}

static inline Packed state_of(const Shard *w, uint64_t index) {
  uint64_t pair = pair_of(w, index);
  return joined(head_of(w, pair), tail_of(w, pair));
}

static inline uint64_t hash_of_key(const Shard *w, uint64_t index) {
  Packed p = state_of(w, index);
  return hash(&p);
}

static uint64_t bytes_of(const Halves *halves, int size) {
  return halves->count * size + halves->slots * sizeof *halves->number;
}

static uint64_t bytes_of_halves(const Shard *w) {
  return bytes_of(&w->heads, HEAD) + bytes_of(&w->tails, TAIL);
}

static void copy_key(const Shard *w, uint64_t index, uint8_t *to) {
  Packed p = state_of(w, index);
  memcpy(to, &p, STATE_BYTES);
}

#endif

static uint64_t bytes_of_keys(const Shard *w) {
  return w->count * key_bytes(w) + bytes_of_halves(w);
}
