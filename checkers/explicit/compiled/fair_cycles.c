/* Fair sets, and shortest paths to them and in them, in a state graph of arrays.

   `checkers/explicit/fairness.py` defines the terms and is the oracle. The transitions of node v have
   the numbers offsets[v] to offsets[v + 1]. A node has at most one transition with each label. A mask
   has one byte for each node.

   Source: Pearce, A space-efficient algorithm for finding strongly connected components, 2016. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef LABEL
#define LABEL uint8_t
#endif

enum { FREE, WEAK, STRONG }; /* the fairness of a label */

#define NONE UINT32_MAX         /* no node, no transition */
#define CLOSED UINT32_MAX       /* `low` of a node whose component was judged */
#define JUDGED (UINT32_MAX - 1) /* `low` of the nodes of the component that is judged now */

typedef struct {
  uint64_t nodes, levels;
  const uint32_t *offsets, *targets;
  const LABEL *labels;
  const uint8_t *fair;     /* label -> FREE, WEAK or STRONG */
  const uint32_t *level;   /* the first node of each breadth-first level, then the number of nodes */

  uint32_t *low;           /* node -> the least number that it reaches; 0: not visited */
  uint32_t *stack;         /* from the start: the depth-first path; from the end: open components */
  uint32_t *next;          /* node of the path -> the transition to follow next */
  uint8_t *joined;         /* node of the path -> it reaches an earlier one */
  uint32_t *enabled;       /* label -> nodes of the component that enable it */
  uint8_t *taken;          /* label -> a transition is inside the component */
  uint32_t *touched;       /* the labels of the component */

  const uint8_t *within, *through;
  uint8_t *good, *left;    /* fair sets; nodes that are searched again */
  uint8_t *home;           /* the component of the first root, if only this is searched for */
  uint64_t root, path, open, last, more;
} Graph;

/* ---- components */

static int enables_untaken(const Graph *g, uint32_t v) {
  for (uint32_t e = g->offsets[v]; e < g->offsets[v + 1]; e++)
    if (g->fair[g->labels[e]] == STRONG && !g->taken[g->labels[e]]) return 1;
  return 0;
}

/* Decides whether a component is fair, contains no fair set, or must be searched again. */
static void judge(Graph *g, const uint32_t *of, uint64_t size) {
  int failed = 1, again = 0;
  for (uint64_t k = 0; k < size && failed; k++) failed = !g->through[of[k]];
  if (failed) return;
  uint64_t touched = 0;
  for (uint64_t k = 0; k < size; k++)
    for (uint32_t e = g->offsets[of[k]]; e < g->offsets[of[k] + 1]; e++) {
      uint32_t label = g->labels[e];
      if (g->fair[label] == FREE) continue;
      if (!g->enabled[label]++) g->touched[touched++] = label;
      g->taken[label] |= g->low[g->targets[e]] == JUDGED;
    }
  for (uint64_t k = 0; k < touched; k++) {
    uint32_t label = g->touched[k];
    if (g->taken[label]) continue;
    if (g->fair[label] == STRONG) again = 1;
    else failed |= g->enabled[label] == size;
  }
  for (uint64_t k = 0; k < size && !failed; k++) {
    if (!again) g->good[of[k]] = 1;
    else if (!enables_untaken(g, of[k])) g->left[of[k]] = g->more = 1;
  }
  for (uint64_t k = 0; k < touched; k++) g->enabled[g->touched[k]] = g->taken[g->touched[k]] = 0;
}

static void enter(Graph *g, uint32_t v) {
  g->low[v] = ++g->last;
  g->next[g->path] = g->offsets[v];
  g->joined[g->path] = 0;
  g->stack[g->path++] = v;
}

/* Follows the transitions of the last node of the path up to a new node; returns false if there is
   none. */
static int goes_on(Graph *g) {
  uint64_t top = g->path - 1;
  uint32_t v = g->stack[top], e = g->next[top], end = g->offsets[v + 1], low = g->low[v];
  for (; e < end; e++) {
    uint32_t other = g->targets[e];
    if (!g->within[other]) continue;
    if (!g->low[other]) break;
    if (g->low[other] < low) low = g->low[other], g->joined[top] = 1;
  }
  g->low[v] = low;
  g->next[top] = e; /* read again after the new node: its `low` is then final */
  if (e < end) enter(g, g->targets[e]);
  return e < end;
}

static void leave(Graph *g) {
  uint32_t v = g->stack[--g->path], low = g->low[v];
  g->stack[--g->open] = v;
  if (g->joined[g->path]) return;
  uint64_t size = 0;
  const uint32_t *of = g->stack + g->open;
  for (; g->open < g->nodes && g->low[g->stack[g->open]] >= low; size++)
    g->low[g->stack[g->open++]] = JUDGED;
  if (!g->home) judge(g, of, size);
  else for (uint64_t k = 0; k < size && !g->path; k++) g->home[of[k]] = 1;
  for (uint64_t k = 0; k < size; k++) g->low[of[k]] = CLOSED;
}

static void begin(Graph *g, const uint8_t *within, uint8_t *home, uint32_t root) {
  memset(g->low, 0, g->nodes * sizeof *g->low);
  g->within = within, g->home = home, g->root = root;
  g->path = g->last = g->more = 0;
  g->open = g->nodes;
}

void fair_begin(
    Graph *g, const uint8_t *within, const uint8_t *through, uint8_t *good, uint8_t *left) {
  begin(g, within, NULL, 0);
  g->through = through, g->good = good, g->left = left;
}

/* Visits more nodes of `within`, at most `quota`. Returns false when all are visited: then `good` has
   the fair sets, and `left` the nodes whose fair sets need another search, if `more`. */
int fair_search(Graph *g, uint64_t quota) {
  while (quota--) {
    if (!g->path) {
      while (g->root < g->nodes && (!g->within[g->root] || g->low[g->root])) g->root++;
      if (g->root == g->nodes) return 0;
      enter(g, g->root);
    }
    while (!goes_on(g)) {
      leave(g);
      if (!g->path) break;
    }
  }
  return 1;
}

/* Marks the nodes of `within` that reach `node` and are reached from it, on paths in `within`. */
void fair_home(Graph *g, uint32_t node, const uint8_t *within, uint8_t *home) {
  begin(g, within, home, node);
  enter(g, node);
  while (g->path) if (!goes_on(g)) leave(g);
}

/* Marks the nodes from which no fair action leads to another node. */
void fair_resting(const Graph *g, uint8_t *resting) {
  for (uint64_t v = 0; v < g->nodes; v++) {
    resting[v] = 1;
    for (uint32_t e = g->offsets[v]; e < g->offsets[v + 1]; e++)
      if (g->fair[g->labels[e]] != FREE) resting[v] = 0;
  }
}

/* ---- shortest paths: `low` has the transition to each node, `joined` the visited nodes */

static int ascending(const void *a, const void *b) {
  uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
  return (left > right) - (left < right);
}

/* Returns the last node of a shortest path that visits `begun`, then stays in `within`, and ends in
   `ends`; NONE if there is no such path. A node of `begun` is as far as its breadth-first level. Of
   several last nodes and transitions, the path has those with the least numbers. */
uint32_t fair_path(Graph *g, const uint8_t *begun, const uint8_t *within, const uint8_t *ends) {
  memset(g->low, 0xff, g->nodes * sizeof *g->low);
  memset(g->joined, 0, g->nodes);
  uint64_t start = 0, end = 0;
  for (uint64_t level = 0; level < g->levels || start < end; level++) {
    if (level < g->levels)
      for (uint32_t v = g->level[level]; v < g->level[level + 1]; v++)
        if (begun[v] && within[v] && !g->joined[v]) g->joined[v] = 1, g->stack[end++] = v;
    qsort(g->stack + start, end - start, sizeof *g->stack, ascending);
    for (uint64_t k = start; k < end; k++)
      if (ends[g->stack[k]]) return g->stack[k];
    uint64_t after = end;
    for (; start < end; start++)
      for (uint32_t e = g->offsets[g->stack[start]]; e < g->offsets[g->stack[start] + 1]; e++) {
        uint32_t other = g->targets[e];
        if (!within[other] || g->joined[other]) continue;
        g->joined[other] = 1, g->low[other] = e, g->stack[after++] = other;
      }
    end = after;
  }
  return NONE;
}

/* Marks the labels of the transitions that leave the nodes of `inside`. */
void fair_enabled(const Graph *g, const uint8_t *inside, uint8_t *labels) {
  for (uint64_t v = 0; v < g->nodes; v++)
    for (uint32_t e = g->offsets[v]; inside[v] && e < g->offsets[v + 1]; e++)
      labels[g->labels[e]] = 1;
}

/* Returns the last transition of a shortest path from `start` in `inside`, with at least one
   transition. The path ends with a transition whose label is open, or in a node that disables one of
   the `weak` open labels that are weak, or in a node of `ends` (may be NULL), or in the node `end_node`
   (may be NONE). Returns NONE if there is no such path. */
uint32_t fair_walk(
    Graph *g, uint32_t start, const uint8_t *inside, const uint8_t *open, uint64_t weak,
    const uint8_t *ends, uint32_t end_node) {
  memset(g->joined, 0, g->nodes);
  g->joined[start] = 1, *g->stack = start, g->low[start] = NONE;
  for (uint64_t todo = 0, end = 1; todo < end; todo++)
    for (uint32_t e = g->offsets[g->stack[todo]]; e < g->offsets[g->stack[todo] + 1]; e++) {
      uint32_t other = g->targets[e];
      if (!inside[other]) continue;
      uint64_t enabled = 0;
      if (weak)
        for (uint32_t f = g->offsets[other]; f < g->offsets[other + 1]; f++)
          enabled += open[g->labels[f]] == WEAK;
      if (open[g->labels[e]] || enabled < weak || (ends && ends[other]) || other == end_node)
        return e;
      if (g->joined[other]) continue;
      g->joined[other] = 1, g->low[other] = e, g->stack[end++] = other;
    }
  return NONE;
}
