/* The parents of the states. They are ascending, so one byte stores the distance from the parent at
   the start of a run. */

static void add_run(uint64_t *failed, Runs *runs, Run run) {
  if (runs->count == runs->room) {
    uint64_t room = runs->room * 5 / 4 + 1024;
    runs->runs = grown(failed, runs->runs, room * sizeof run);
    if (*failed) return;
    runs->room = room;
  }
  runs->runs[runs->count++] = run;
}

/* Stores the parent of a state; adds a run to `runs` if the parent is far from that of the last run. */
INLINE void keep_parent(Store *s, uint64_t *failed, Runs *runs, uint64_t number, uint32_t parent) {
  uint64_t steps = runs->count ? (uint64_t)parent - runs->runs[runs->count - 1].parent : UINT64_MAX;
  if (steps > UINT8_MAX) {
    steps = 0;
    add_run(failed, runs, (Run){number, parent});
  }
  s->parents[number] = steps;
}

static uint64_t parent_of(const Store *s, uint64_t number) {
  uint64_t low = 0, high = s->runs.count;
  while (high - low > 1) {
    uint64_t middle = (low + high) / 2;
    *(s->runs.runs[middle].first <= number ? &low : &high) = middle;
  }
  return s->runs.runs[low].parent + s->parents[number];
}

static uint64_t bytes_of_parents(const Store *s) { return s->count + s->runs.count * sizeof(Run); }
