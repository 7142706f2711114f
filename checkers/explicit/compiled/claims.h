/* Judges claims and witnesses in the states of a level, and claims about steps. */

static void judge_block(Worker *w, uint64_t start, Bits some) {
  for (int c = 0; c < CLAIMS; c++) {
    if (!claim_of_states[c] || !w->found.open[c]) continue;
    Bits broken = some & ~claim_of_states[c](w, some);
    if (!broken) continue;
    w->found.open[c] = 0;
    w->found.broken[c] = start + __builtin_ctz(broken) + 1;
  }
  for (int c = 0; c < WITNESSES; c++) {
    Bits seen = witness[c](w, some);
    if (seen && !w->found.seen[c]) w->found.first_seen[c] = start + __builtin_ctz(seen) + 1;
    w->found.seen[c] += __builtin_popcount(seen);
  }
  if (w->undefined) w->found.undefined = start + __builtin_ctz(w->undefined) + 1;
}

/* Judges the states [start, end). */
static void judge(Worker *w, uint64_t start, uint64_t end) {
  while (start < end && !w->found.undefined) {
    Bits some = read_block(w, start, end);
    judge_block(w, start, some);
    start += __builtin_popcount(some);
  }
}

/* Judges the step from state `k` of the block, which has this number. */
static void judge_step(Worker *w, uint32_t k, uint64_t number, const Packed *to) {
  uint8_t after[CELLS + 1];
  int read = 0;
  Bits before = w->undefined;
  for (int c = 0; c < CLAIMS; c++) {
    if (!claim_of_steps[c] || !w->found.open[c]) continue;
    if (!read++) unpack(to, after);
    if (!claim_of_steps[c](w, k, after) && !w->undefined) {
      w->found.open[c] = 0;
      w->found.broken[c] = number + 1;
      memcpy(w->found.broken_by[c], to, sizeof *to);
    }
  }
  if (w->undefined && !before) w->found.undefined_step = 1;
}
