/* The distinct halves of the states, numbered in the order in which they were found.

   Many states share a half: the 10.8 million states of KIP-320 with 17 bytes have 31,493 first halves
   and 71,956 second halves. Each half is stored once, and a hash set maps it to its number plus one.

   Source: Laarman, van de Pol and Weber, Parallel recursive state compression for free, 2011. */

#define UNROLLED _Pragma("GCC unroll 8")
#define SLACK 8            /* bytes after an array that is read and written in words */
#define UNKNOWN UINT32_MAX /* the number of a half that is not stored */

INLINE uint64_t word_of(const uint8_t *bytes) {
  uint64_t word;
  return memcpy(&word, bytes, sizeof word), word;
}

/* Returns word `k` of a half with `size` bytes. */
INLINE uint64_t half_word(const uint8_t *half, int size, int k) {
  int left = size - 8 * k;
  return left < 8 ? word_of(half + 8 * k) & ((1ull << 8 * left) - 1) : word_of(half + 8 * k);
}

INLINE int same_half(const uint8_t *one, const uint8_t *other, int size) {
  uint64_t differ = 0;
  UNROLLED for (int k = 0; 8 * k < size; k++) differ |= half_word(one, size, k) ^ half_word(other, size, k);
  return !differ;
}

INLINE uint64_t hash_of_half(const uint8_t *half, int size) {
  uint64_t h = 0;
  UNROLLED for (int k = 0; 8 * k < size; k++) {
    h = (h ^ half_word(half, size, k)) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  return h * 0xc4ceb9fe1a85ec53u;
}

INLINE uint64_t first_slot(const Halves *halves, const uint8_t *half, int size) {
  return hash_of_half(half, size) >> 32 & (halves->slots - 1);
}

/* Prefetches the slot of a half. */
INLINE void look_at_slot(const Halves *halves, const uint8_t *half, int size) {
  __builtin_prefetch(halves->number + first_slot(halves, half, size));
}

/* Prefetches the half in this slot, which is cached by now. */
INLINE void look_at_half(const Halves *halves, const uint8_t *half, int size) {
  uint32_t one = halves->slots ? halves->number[first_slot(halves, half, size)] : 0;
  if (one) __builtin_prefetch(halves->bytes + (uint64_t)(one - 1) * size);
}

/* Returns the slot of a half, or the empty slot in which it belongs. */
INLINE uint64_t slot_of(const Halves *halves, const uint8_t *half, int size) {
  uint64_t slot = first_slot(halves, half, size);
  for (uint32_t one; (one = halves->number[slot]); slot = (slot + 1) & (halves->slots - 1))
    if (same_half(halves->bytes + (uint64_t)(one - 1) * size, half, size)) break;
  return slot;
}

/* Returns the number of a half, or UNKNOWN. */
INLINE uint32_t number_of_half(const Halves *halves, const uint8_t *half, int size) {
  return halves->slots ? halves->number[slot_of(halves, half, size)] - 1 : UNKNOWN;
}

static void has_half(uint64_t *failed, Halves *halves, int size) {
  if (halves->count == halves->room) {
    uint64_t room = halves->room * 5 / 4 + 1024;
    halves->bytes = grown(failed, halves->bytes, room * size + SLACK);
    if (*failed) return;
    halves->room = room;
  }
  if (halves->count * 3 < halves->slots * 2) return;
  uint64_t slots = halves->slots ? halves->slots * 2 : 1024;
  uint32_t *number = calloc(slots, sizeof *number);
  if (!number) *failed = NO_MEMORY;
  if (!number) return;
  free(halves->number);
  halves->number = number, halves->slots = slots;
  for (uint64_t k = 0; k < halves->count; k++)
    number[slot_of(halves, halves->bytes + k * size, size)] = k + 1;
}

/* Returns the number of a half, which is added if it is new. */
static uint32_t added_half(uint64_t *failed, Halves *halves, const uint8_t *half, int size) {
  uint32_t number = number_of_half(halves, half, size);
  if (number != UNKNOWN) return number;
  has_half(failed, halves, size);
  if (*failed) return 0;
  memcpy(halves->bytes + halves->count * size, half, size);
  halves->number[slot_of(halves, half, size)] = halves->count + 1;
  return halves->count++;
}

static uint64_t bytes_of(const Halves *halves, int size) {
  return halves->count * size + halves->slots * sizeof *halves->number;
}
