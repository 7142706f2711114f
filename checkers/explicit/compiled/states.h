/* A stored state as 64-bit words, and its hash. */

typedef struct { uint64_t word[WORDS]; } Packed;

INLINE Packed load(const uint8_t *stored) {
  Packed p = {{0}};
  memcpy(&p, stored, STATE_BYTES);
  return p;
}

INLINE int equal(const Packed *p, const Packed *q) {
  uint64_t differ = 0;
  for (int k = 0; k < WORDS; k++) differ |= p->word[k] ^ q->word[k];
  return !differ;
}

INLINE void unpack(const Packed *p, uint8_t *s) {
#define CELL(cell, at, by, wide) s[cell] = p->word[at] >> by & ((1u << wide) - 1);
  FOR_EVERY_CELL(CELL)
#undef CELL
}

INLINE void put(Packed *p, int cell, int value) {
  Place at = PLACE[cell];
  uint64_t *word = p->word + at.word;
  *word = (*word & at.others) | (uint64_t)value << at.shift;
}

/* Fingerprints need a good hash: Murmur3's finalizer, applied to one word after another, a bijection of
   each word. Exact states need only an even one: the two halves of one product for each word. */
INLINE uint64_t hash(const Packed *p) {
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
