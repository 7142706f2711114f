/* For a caller that writes a search to a checkpoint, between two calls, and restores it later.

   The arrays of the store only grow, so a checkpoint adds what is new since the last one. If a number of
   a half needs more bits, the keys are written again; so the bytes of some keys have their own widths. */

typedef struct { uint64_t bytes, head_bits, tail_bits; } Widths; /* of keys; no bits for fingerprints */

/* The numbers of elements, and the arrays. */
typedef struct {
  uint64_t states, level, end, judged, expanded, heads, tails, runs, offsets, edges;
  Widths widths;
  const void *key, *parent, *head, *tail, *run, *offset, *target, *label, *now, *next;
} Image;

void checkpoint_image(const Search *all, Image *image) {
  const Store *s = &all->store;
  const Edges *e = &all->edges;
  *image = (Image){
      .states = s->count, .level = s->level, .end = s->end, .judged = s->judged, .expanded = s->expanded,
      .heads = s->heads.count, .tails = s->tails.count, .runs = s->runs.count, .offsets = e->states,
      .edges = e->edges, .widths = {key_bytes(s), s->heads.bits, s->tails.bits}, .key = s->keys,
      .parent = s->parents, .head = s->heads.bytes, .tail = s->tails.bytes, .run = s->runs.runs,
      .offset = e->offsets, .target = e->targets, .label = e->labels, .now = s->now, .next = s->next};
}

/* Makes room in the hash set for so many states, so that it does not grow while they are restored. */
void restore_room(Search *all, uint64_t states) {
  for (uint64_t k = 0; k < all->threads; k++)
    has_buckets(&all->store, &all->worker[k].set, states / all->threads + 1);
}

/* Restores halves, before the states that name them. */
void restore_halves(
    Search *all, const uint8_t *heads, uint64_t head_count, const uint8_t *tails, uint64_t tail_count) {
#ifdef FINGERPRINTS
  (void)all, (void)heads, (void)head_count, (void)tails, (void)tail_count;
#else
  Store *s = &all->store;
  for (uint64_t k = 0; k < head_count; k++) added_half(s->failed, &s->heads, heads + k * HEAD, HEAD);
  for (uint64_t k = 0; k < tail_count; k++) added_half(s->failed, &s->tails, tails + k * TAIL, TAIL);
  while (!*s->failed && s->heads.count > (uint64_t)1 << s->heads.bits) widen(s, &s->heads);
  while (!*s->failed && s->tails.count > (uint64_t)1 << s->tails.bits) widen(s, &s->tails);
#endif
}

void restore_runs(Search *all, const Run *runs, uint64_t count) {
  for (uint64_t k = 0; k < count; k++) add_run(all->store.failed, &all->store.runs, runs[k]);
}

INLINE Draft draft_of_bytes(const uint8_t *key, Widths widths) {
  uint64_t word = word_of(key);
#ifdef FINGERPRINTS
  return (void)widths, word;
#else
  return (Draft){word & ones(widths.head_bits), word >> widths.head_bits & ones(widths.tail_bits)};
#endif
}

/* Puts the states into the hash set that follow the states of the store. */
static void put_in_restored(Search *all, uint64_t count) {
  Store *s = &all->store;
  for (uint64_t start = s->count, end = start + count; start < end; start = s->count) {
    uint64_t n = end - start < SHARED ? end - start : SHARED, own[THREADS] = {0};
    for (uint64_t k = 0; k < n; k++) {
      all->hashes[k] = hash_of_key(s, start + k);
      own[part_of(all->hashes[k], all->threads)]++;
    }
    for (uint64_t k = 0; k < all->threads; k++) {
      Set *set = &all->worker[k].set;
      if (!has_buckets(s, set, set->count + own[k])) return;
      put_in_hashed(set, all->hashes, start, n);
      set->count += own[k];
    }
    s->count += n;
  }
}

/* Adds states with these keys and parents. The caller has SLACK bytes after the keys. */
void restore_states(
    Search *all, const uint8_t *keys, const uint8_t *parents, uint64_t count, const Widths *widths) {
  Store *s = &all->store;
  if (!has_room(s, count)) return;
  memcpy(s->parents + s->count, parents, count);
  for (uint64_t k = 0; k < count; k++)
    write_key(s, s->count + k, draft_of_bytes(keys + k * widths->bytes, *widths));
  put_in_restored(all, count);
}

/* Adds transitions, of which the search keeps the earlier ones. */
void restore_edges(
    Search *all, const uint32_t *offsets, uint64_t states, const uint32_t *targets, const Label *labels,
    uint64_t count) {
  Edges *e = &all->edges;
  uint64_t *failed = all->store.failed;
  for (uint64_t k = 0; k < states && has_edges(e, failed, 0); k++) e->offsets[e->states++] = offsets[k];
  if (!has_edges(e, failed, count)) return;
  memcpy(e->targets + e->found, targets, count * sizeof *targets);
  memcpy(e->labels + e->edges, labels, count * sizeof *labels);
  e->edges += count, e->found += count;
}

/* Restores the level, after all states. With fingerprints, `waiting` has the states that are not yet
   expanded. */
void restore_level(Search *all, const Image *image, const uint8_t *waiting) {
  Store *s = &all->store;
  s->level = image->level, s->end = image->end, s->judged = image->judged, s->expanded = image->expanded;
#ifdef FINGERPRINTS
  uint64_t level = (s->end - s->level) * STATE_BYTES, done = (s->expanded - s->level) * STATE_BYTES;
  s->now = grown(s->failed, NULL, level);
  has_next(s, 0);
  if (*s->failed) return;
  memcpy(s->now + done, waiting, level - done);
  memcpy(s->next, waiting + level - done, (s->count - s->end) * STATE_BYTES);
#else
  (void)waiting;
#endif
}
