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
#define MISSED(conjunct, states, instances) \
  w->found.missed[conjunct] += (uint64_t)__builtin_popcount(some & (states)) * instances
#else
#define MISSED(conjunct, states, instances) (void)0
#endif

typedef union { uint8_t one[WORDS * 8][BLOCK]; Wide all[WORDS * 8]; } Bytes;

/* Turns the words of packed states into columns: byte 0 of each state, then byte 1 of each state. SIMD
   instructions interleave the bytes of two states, then of four, of eight and of sixteen. */
INLINE void columns_of(const Packed *states, Bytes *bytes) {
#ifdef __SSE2__
  for (int word = 0; word < WORDS; word++) {
    __m128i rows[8], next[8];
    for (int k = 0; k < 8; k++)
      rows[k] = _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)&states[k].word[word]),
                                  _mm_loadl_epi64((const __m128i *)&states[k + 8].word[word]));
    for (int round = 0; round < 3; round++) {
      for (int k = 0; k < 4; k++) {
        next[2 * k] = _mm_unpacklo_epi8(rows[k], rows[k + 4]);
        next[2 * k + 1] = _mm_unpackhi_epi8(rows[k], rows[k + 4]);
      }
      memcpy(rows, next, sizeof rows);
    }
    memcpy(bytes->all + word * 8, rows, sizeof rows);
  }
#else
  for (int byte = 0; byte < WORDS * 8; byte++)
    for (int k = 0; k < BLOCK; k++) bytes->one[byte][k] = states[k].word[byte / 8] >> byte % 8 * 8;
#endif
}

/* Returns the state with this number, which is of the level. */
INLINE Packed level_state(const Store *s, uint64_t number) {
  const uint8_t *states = s->given;
#ifdef FINGERPRINTS
  if (!states) states = s->now;
#else
  if (!states) return state_of(s, number);
#endif
  return load(states + (number - s->level) * STATE_BYTES);
}

/* Unpacks the first states of [start, end), which are of the level; returns the states of the block. */
static Bits read_block(Worker *w, uint64_t start, uint64_t end) {
  uint64_t n = end - start < BLOCK ? end - start : BLOCK;
  Bytes bytes;
  for (uint64_t k = 0; k < n; k++) w->packed[k] = level_state(&w->search->store, start + k);
  columns_of(w->packed, &bytes);
#define CELL_OF_ALL(cell, at, by, wide) \
  w->cells[cell] = (Many)(bytes.all[at * 8 + by / 8] >> by % 8) & every((1 << wide) - 1);
  FOR_EVERY_CELL(CELL_OF_ALL)
#undef CELL_OF_ALL
  w->undefined = 0;
  return BIT(n - 1) | (BIT(n - 1) - 1);
}
