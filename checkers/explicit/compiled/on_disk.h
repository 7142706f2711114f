/* For a caller that moves the states of a search in one thread to disk. */

/* Moves the keys and the parents to two files. The hash set and the halves stay in memory. */
void search_move(Search *all, int keys, int parents) {
  Store *s = &all->store;
  int files[] = {keys, parents};
  memcpy(s->files, files, sizeof files);
  s->keys = moved(s->failed, keys, s->keys, s->count * key_bytes(s), s->room * key_bytes(s) + SLACK);
  s->parents = moved(s->failed, parents, s->parents, s->count, s->room);
}

/* Copies the keys of `count` states. */
void search_keys(const Search *all, uint64_t first, uint64_t count, uint8_t *keys) {
  for (uint64_t k = 0; k < count; k++) copy_key(&all->store, first + k, keys + k * KEY_BYTES);
}

/* Copies the parents of `count` states. */
void search_parents(const Search *all, uint64_t first, uint64_t count, uint32_t *parents) {
  for (uint64_t k = 0; k < count; k++) parents[k] = parent_of(&all->store, first + k);
}

/* Copies `count` states of the current level. */
void search_level(const Search *all, uint64_t first, uint64_t count, uint8_t *states) {
#ifdef FINGERPRINTS
  memcpy(states, all->store.now + (first - all->store.level) * STATE_BYTES, count * STATE_BYTES);
#else
  search_keys(all, first, count, states);
#endif
}

/* ---- for a caller that stores the states itself */

/* Frees all states. */
void search_forget(Search *all) { forget(all); }

/* Replaces the level by these states, numbered from `first` on. */
void search_give(Search *all, const uint8_t *states, uint64_t first, uint64_t count) {
  Store *s = &all->store;
  s->given = states;
  s->level = s->judged = s->expanded = first;
  s->end = first + count;
}

/* Expands the level; returns the number of waiting letters. */
uint64_t search_post(Search *all) {
  Store *s = &all->store;
  expand(all->worker, s->expanded, s->end);
  s->expanded = s->end;
  return all->worker->out->count;
}

/* Returns the waiting letters and empties the outbox. */
const Letter *search_letters(Search *all) {
  all->worker->out->count = 0;
  return all->worker->out->letters;
}
