/* A block of states that are processed together, for the actions and claims of the spec.

   `cells` of a worker holds one cell of all states of the block in a row, so one instruction tests that
   cell in all of them. A bit set holds the states for which a guard or claim is true. */

#define BIT(k) ((Bits)1 << (k))

/* Loops over a bit set of states, with `k` as the state. */
#define FOR_EACH(k, some)                                                                   \
  for (Bits rest = (some), k; rest && (k = w->reading = __builtin_ctz(rest), 1); rest &= rest - 1)

#define CELL(cell) ((const uint8_t *)w->cells)[(cell) * BLOCK + k]
#define AFTER(cell) after[(cell) - CELLS]

INLINE int inside(Worker *w, int value, int size) {
  if ((unsigned)value < (unsigned)size) return value;
  w->undefined |= BIT(w->reading);
  return 0;
}

INLINE Many every(int value) { return (Many){0} + (int8_t)value; }
INLINE Many chosen(Many test, Many then, Many other) { return (test & then) | (~test & other); }

/* Returns the lanes in which a truth value is true. */
INLINE Bits which(Many truth) {
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

INLINE void emit(Worker *w, uint32_t k, const Packed *to, uint32_t instance) {
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

typedef union { uint8_t one[STATE_BYTES][BLOCK]; Wide all[STATE_BYTES]; } Bytes;

/* Reads the state with this number as state `k` of the block. */
INLINE void read_state(Worker *w, const Store *s, uint64_t number, Bytes *bytes, uint64_t k) {
  const uint8_t *states = s->given;
#ifdef FINGERPRINTS
  if (!states) states = s->now;
#else
  if (!states) {
    uint64_t pair = pair_of(s, number);
    const uint8_t *head = head_of(s, pair), *tail = tail_of(s, pair);
    w->packed[k] = joined(head, tail);
    for (int byte = 0; byte < HEAD; byte++) bytes->one[byte][k] = head[byte];
    for (int byte = 0; byte < TAIL; byte++) bytes->one[HEAD + byte][k] = tail[byte];
    return;
  }
#endif
  states += (number - s->level) * STATE_BYTES;
  w->packed[k] = load(states);
  for (int byte = 0; byte < STATE_BYTES; byte++) bytes->one[byte][k] = states[byte];
}

/* Unpacks the first states of [start, end), which are of the level; returns the states of the block. */
static Bits read_block(Worker *w, uint64_t start, uint64_t end) {
  uint64_t n = end - start < BLOCK ? end - start : BLOCK;
  Bytes bytes;
  for (uint64_t k = 0; k < n; k++) read_state(w, &w->search->store, start + k, &bytes, k);
#define CELL_OF_ALL(cell, at, by, wide) \
  w->cells[cell] = (Many)(bytes.all[at * 8 + by / 8] >> by % 8) & every((1 << wide) - 1);
  FOR_EVERY_CELL(CELL_OF_ALL)
#undef CELL_OF_ALL
  w->undefined = 0;
  return BIT(n - 1) | (BIT(n - 1) - 1);
}
