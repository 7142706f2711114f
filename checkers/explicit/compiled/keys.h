/* The keys of the states: what the store has of each state.

   A key is a fingerprint, or the numbers of the two halves of the state (`halves.h`). The two numbers
   are stored in as few bits as the largest numbers need, rounded up to bytes. All keys are written
   again when a number needs more bits. So a new state has a draft first: its key without a width. */

/* Makes room for so many keys of `bytes` bytes; returns false if there is none. */
static int has_keys(Store *s, uint64_t room, uint64_t bytes) {
  s->keys = grown_in(s->failed, s->files[KEYS], s->keys, room * bytes + SLACK);
  if (!*s->failed && s->files[KEYS] == MEMORY) use_huge_pages(s->keys);
  return !*s->failed;
}

#ifdef FINGERPRINTS

#define KEY_BYTES 8 /* of the key that a caller reads */

INLINE void look_at_key(const Store *s, uint64_t number) {
  __builtin_prefetch(s->keys + number * KEY_BYTES);
}

INLINE uint64_t key_bytes(const Store *s) { return (void)s, KEY_BYTES; }

INLINE uint64_t hash_of_key(const Store *s, uint64_t number) {
  uint64_t h;
  return memcpy(&h, s->keys + number * KEY_BYTES, KEY_BYTES), h;
}

INLINE int is_key_of(const Store *s, uint64_t number, const Letter *letter) {
  return hash_of_key(s, number) == letter->hash;
}

INLINE int same_key(const Letter *one, const Letter *other) { return one->hash == other->hash; }

static void draft_batch(const Store *s, Fresh **states, Draft *drafts, uint64_t count) {
  (void)s;
  for (uint64_t k = 0; k < count; k++) drafts[k] = states[k]->letter->hash;
}

INLINE int is_complete(Draft draft) { return (void)draft, 1; }
INLINE void complete(Store *s, const Letter *letter, Draft *draft) { (void)s, (void)letter, (void)draft; }

/* Two threads may write neighbouring keys at the same time, so this writes no other byte. */
INLINE void write_key(Store *s, uint64_t number, Draft draft) {
  memcpy(s->keys + number * KEY_BYTES, &draft, KEY_BYTES);
}

static uint64_t bytes_of_halves(const Store *s) { return (void)s, 0; }

static void copy_key(const Store *s, uint64_t number, uint8_t *to) {
  memcpy(to, s->keys + number * KEY_BYTES, KEY_BYTES);
}

#else

#define KEY_BYTES STATE_BYTES
#define HEAD ((STATE_BYTES + 1) / 2) /* bytes of the first half */
#define TAIL (STATE_BYTES - HEAD)
#define WIDER 2 /* bits */

INLINE const uint8_t *head_in(const Letter *letter) { return (const uint8_t *)&letter->state; }
INLINE const uint8_t *tail_in(const Letter *letter) { return (const uint8_t *)&letter->state + HEAD; }

INLINE uint64_t ones(int bits) { return ((uint64_t)1 << bits) - 1; }
INLINE uint64_t key_bytes(const Store *s) { return s->pair_bytes; }
INLINE uint64_t pair_of(const Store *s, uint64_t number) {
  return word_of(s->keys + number * s->pair_bytes);
}
INLINE const uint8_t *head_of(const Store *s, uint64_t pair) {
  return s->heads.bytes + (pair & ones(s->heads.bits)) * HEAD;
}
INLINE const uint8_t *tail_of(const Store *s, uint64_t pair) {
  return s->tails.bytes + (pair >> s->heads.bits & ones(s->tails.bits)) * TAIL;
}

/* Writes all pairs again, with more bits for the numbers of these halves: from the last to the
   first, because a pair may need one more byte. */
static void widen(Store *s, Halves *halves) {
  int old_bits = s->heads.bits, old_bytes = s->pair_bytes;
  int bytes = (old_bits + s->tails.bits + WIDER + 7) / 8;
  uint64_t heads = ones(old_bits), tails = ones(s->tails.bits);
  if (bytes > old_bytes && !has_keys(s, s->room, bytes)) return;
  halves->bits += WIDER;
  s->pair_bytes = bytes;
  uint64_t after = 0; /* the keys that follow, in the bytes that a key does not need */
  for (uint64_t k = s->count; k--;) {
    uint64_t pair = word_of(s->keys + k * old_bytes);
    pair = (pair & heads) | (pair >> old_bits & tails) << s->heads.bits;
    after = s->pair_bytes < 8 ? pair | after << 8 * s->pair_bytes : pair;
    memcpy(s->keys + k * s->pair_bytes, &after, sizeof after);
  }
}

/* Returns the numbers of those halves of a state that its parent has; the parent's key is cached. */
INLINE Draft draft_of_parent(const Store *s, const Letter *letter) {
  if (letter->parent >= s->count) return (Draft){UNKNOWN, UNKNOWN};
  uint64_t pair = pair_of(s, letter->parent);
  uint32_t head = pair & ones(s->heads.bits), tail = pair >> s->heads.bits & ones(s->tails.bits);
  int same_head = same_half(s->heads.bytes + (uint64_t)head * HEAD, head_in(letter), HEAD);
  int same_tail = same_half(s->tails.bytes + (uint64_t)tail * TAIL, tail_in(letter), TAIL);
  return (Draft){same_head ? head : UNKNOWN, same_tail ? tail : UNKNOWN};
}

/* Writes the numbers of the halves of at most BATCH states, with UNKNOWN for new halves. Most states
   have one half of their parent, so the lookups of first and of second halves are separate loops. */
static void draft_batch(const Store *s, Fresh **states, Draft *drafts, uint64_t count) {
  const Letter *letters[BATCH];
  uint32_t heads[BATCH], tails[BATCH]; /* the states whose half the parent does not have */
  uint64_t h = 0, t = 0;
  for (uint64_t k = 0; k < count; k++) {
    letters[k] = states[k]->letter;
    drafts[k] = draft_of_parent(s, letters[k]);
    heads[h] = tails[t] = k;
    h += drafts[k].head == UNKNOWN, t += drafts[k].tail == UNKNOWN;
  }
  for (uint64_t k = 0; k < h; k++) look_at_slot(&s->heads, head_in(letters[heads[k]]), HEAD);
  for (uint64_t k = 0; k < t; k++) look_at_slot(&s->tails, tail_in(letters[tails[k]]), TAIL);
  for (uint64_t k = 0; k < h; k++) look_at_half(&s->heads, head_in(letters[heads[k]]), HEAD);
  for (uint64_t k = 0; k < t; k++) look_at_half(&s->tails, tail_in(letters[tails[k]]), TAIL);
  for (uint64_t k = 0; k < h; k++)
    drafts[heads[k]].head = number_of_half(&s->heads, head_in(letters[heads[k]]), HEAD);
  for (uint64_t k = 0; k < t; k++)
    drafts[tails[k]].tail = number_of_half(&s->tails, tail_in(letters[tails[k]]), TAIL);
}

INLINE int is_complete(Draft draft) { return draft.head != UNKNOWN && draft.tail != UNKNOWN; }

/* Stores the new halves of a state, and writes their numbers into its draft. */
static void complete(Store *s, const Letter *letter, Draft *draft) {
  if (draft->head == UNKNOWN) draft->head = added_half(s->failed, &s->heads, head_in(letter), HEAD);
  if (draft->tail == UNKNOWN) draft->tail = added_half(s->failed, &s->tails, tail_in(letter), TAIL);
  if (!*s->failed && (uint64_t)draft->head >> s->heads.bits) widen(s, &s->heads);
  if (!*s->failed && (uint64_t)draft->tail >> s->tails.bits) widen(s, &s->tails);
}

/* Two threads may write neighbouring keys at the same time, so this writes no other byte. */
INLINE void write_key(Store *s, uint64_t number, Draft draft) {
  uint64_t pair = draft.head | (uint64_t)draft.tail << s->heads.bits;
  uint8_t *key = s->keys + number * s->pair_bytes;
  switch (s->pair_bytes) {
    case 4: memcpy(key, &pair, 4); break;
    case 5: memcpy(key, &pair, 4), key[4] = pair >> 32; break;
    case 6: memcpy(key, &pair, 4), memcpy(key + 4, (uint8_t *)&pair + 4, 2); break;
    default: memcpy(key, &pair, s->pair_bytes);
  }
}

INLINE void look_at_key(const Store *s, uint64_t number) {
  __builtin_prefetch(s->keys + number * s->pair_bytes);
}

INLINE int is_key_of(const Store *s, uint64_t number, const Letter *letter) {
  uint64_t pair = pair_of(s, number);
  return same_half(head_of(s, pair), head_in(letter), HEAD) &&
         same_half(tail_of(s, pair), tail_in(letter), TAIL);
}

INLINE int same_key(const Letter *one, const Letter *other) {
  return equal(&one->state, &other->state);
}

/* Returns a state from its two halves. */
INLINE Packed joined(const uint8_t *head, const uint8_t *tail) {
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

INLINE Packed state_of(const Store *s, uint64_t number) {
  uint64_t pair = pair_of(s, number);
  return joined(head_of(s, pair), tail_of(s, pair));
}

INLINE uint64_t hash_of_key(const Store *s, uint64_t number) {
  Packed p = state_of(s, number);
  return hash(&p);
}

static uint64_t bytes_of_halves(const Store *s) {
  return bytes_of(&s->heads, HEAD) + bytes_of(&s->tails, TAIL);
}

static void copy_key(const Store *s, uint64_t number, uint8_t *to) {
  Packed p = state_of(s, number);
  memcpy(to, &p, STATE_BYTES);
}

#endif

static uint64_t bytes_of_keys(const Store *s) {
  return s->count * key_bytes(s) + bytes_of_halves(s);
}
