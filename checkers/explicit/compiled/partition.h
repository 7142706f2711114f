/* The new states of one partition, for a search whose states are divided among machines.

   The caller adds the states that were sent to the partition, then marks those that an earlier level
   has. The states that stay unmarked are new; `search_keys` has them in the order of their addition. */

/* Adds states, each once. */
void partition_add(Search *all, const uint8_t *stored, uint64_t count) {
  for (uint64_t k = 0; k < count; k++) {
    Packed p = load(stored + k * STATE_BYTES);
    if (has_letters(all->worker, 1)) post(all->worker, &p, 0);
    if (k % ROUND == ROUND - 1 || k == count - 1) take_in(all, &all->worker->set);
  }
}

/* Sets the bytes of `mask` at the numbers of those added states that are among these states. */
void partition_mark(const Search *all, const uint8_t *stored, uint64_t count, uint8_t *mask) {
  const Set *set = &all->worker->set;
  if (!all->store.count) return;
  for (uint64_t start = 0; start < count; start += BATCH) {
    Letter letters[BATCH];
    uint64_t n = count - start < BATCH ? count - start : BATCH;
    for (uint64_t k = 0; k < n; k++) {
      Packed p = load(stored + (start + k) * STATE_BYTES);
      letters[k] = (Letter){p, hash(&p), 0, 0};
      look_ahead(set, letters[k].hash);
    }
    for (uint64_t k = 0; k < n; k++) {
      uint32_t number = number_of(&all->store, set, letters + k);
      if (number != NOWHERE) mask[number] = 1;
    }
  }
}
