/* Expands states: computes the successors of a block, sorts them by their source, and posts them. */

/* Posts the successors of a state of the block. A kept transition always has a letter, which finds its
   target; a transition to the same state is not kept. */
static void post_born(Worker *w, Edges *edges, uint32_t k, uint64_t number) {
  w->reading = k;
  if (edges->kept) keep_offset(edges);
  if (!w->first[k] && !w->found.stuck++) w->found.first_stuck = number + 1;
  for (uint32_t birth = w->first[k]; birth; birth = w->born[birth].next) {
    const Born *born = w->born + birth;
    w->found.generated++;
    w->found.taken[ACTION[born->instance]]++;
    int stutters = (w->judges_steps || edges->kept) && equal(w->packed + k, &born->state);
    if (w->judges_steps && !stutters) judge_step(w, k, number, &born->state);
    if (!edges->kept) post(w, &born->state, number);
    else if (!stutters)
      keep_label(edges, born->instance), send(w, &born->state, hash(&born->state), number, 1);
  }
}

/* Posts the successors of the states [start, end) of the level. */
static void expand(Worker *w, uint64_t start, uint64_t end) {
  Edges *edges = &w->search->edges;
  w->judges_steps = 0;
  for (int c = 0; c < CLAIMS; c++) w->judges_steps |= claim_of_steps[c] && w->found.open[c];
  while (start < end && !w->found.undefined) {
    Bits some = read_block(w, start, end);
    w->births = 0;
    memset(w->first, 0, sizeof w->first);
    successors(w, some);
    if (!has_letters(w, w->births)) return;
    if (edges->kept && !has_edges(edges, &w->found.failed, w->births)) return;
    FOR_EACH(k, some) {
      uint64_t number = start++;
      if (!(w->undefined & BIT(k))) post_born(w, edges, k, number);
      if (!(w->undefined & BIT(k))) continue;
      w->found.undefined = number + 1;
      break;
    }
  }
}
