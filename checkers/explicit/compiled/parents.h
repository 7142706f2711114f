/* The parents of the states of a shard; `runtime.c` includes this file. They are ascending, so one byte
   stores the distance from the start of a run. */

static void keep_parent(Shard *w, uint64_t parent) {
  uint64_t shards = w->search->shards;
  uint64_t far = w->run_count ? parent - w->runs[w->run_count - 1].parent : UINT64_MAX;
  uint64_t steps = shards == 1 ? far : far % shards ? UINT64_MAX : far / shards;
  if (steps > UINT8_MAX) {
    steps = 0;
    if (w->run_count == w->run_room) {
      w->runs = grown(w, w->runs, (w->run_room * 5 / 4 + 1024) * sizeof *w->runs);
      if (w->found.failed) return;
      w->run_room = w->run_room * 5 / 4 + 1024;
    }
    w->runs[w->run_count++] = (Run){w->count, parent};
  }
  w->parents[w->count] = steps;
}

static uint64_t parent_of(const Shard *w, uint64_t index) {
  uint64_t low = 0, high = w->run_count;
  while (high - low > 1) {
    uint64_t middle = (low + high) / 2;
    *(w->runs[middle].first <= index ? &low : &high) = middle;
  }
  return w->runs[low].parent + w->parents[index] * w->search->shards;
}

static uint64_t bytes_of_parents(const Shard *w) { return w->count + w->run_count * sizeof(Run); }
