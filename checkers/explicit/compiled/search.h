/* The data of a search: one store of states, and for each thread a worker with a part of the hash set.

   The states of the store are numbered in the order in which they were found. So a level of the search
   is a range of numbers and needs no queue. Arrays have one element more than needed, so that none is
   empty. Where 0 means that there is no state, the number of a state is stored plus one. */

#define BLOCK 16 /* states that are processed together */

/* Why a search failed. A number of a state has 32 bits. If the system refused to enlarge a file, its
   error number is added to REFUSED. */
enum { NO_MEMORY = 1, TOO_MANY, REFUSED = 1 << 16 };

enum { KEYS, PARENTS }; /* the arrays that can be in files */

enum {
  THREADS = 16,     /* at most */
  ROUND = 4096,     /* states that a search in one thread expands before it adds their successors */
  SHARED = 16384,   /* states that each of several threads expands before that, in chunks of */
  CHUNK = 1024,     /* states */
  CHUNKS = SHARED / CHUNK * THREADS,
  BATCH = 64,       /* states whose keys are read or written together */
  RECENT_BITS = 11, /* log2 of the number of recent successors, which fit into the CPU cache */
};

typedef int8_t Many __attribute__((vector_size(BLOCK)));       /* one cell of each state of a block */
typedef uint16_t Wide __attribute__((vector_size(BLOCK)));
typedef uint32_t Bits;                                         /* a bit set of states of a block */
typedef struct { Packed state; uint32_t instance, next; } Born; /* the next successor of the same state */

#ifdef FINGERPRINTS
typedef uint64_t Draft;
#else
typedef struct { uint32_t head, tail; } Draft; /* the numbers of the halves of a state */
#endif

typedef struct Bucket Bucket;
typedef struct Search Search;
typedef struct { Packed state; uint64_t hash; uint32_t parent, place; } Letter; /* a sent successor */
typedef struct { Letter *letters; uint64_t count, room; } Outbox;

/* The distinct halves of the states, and a hash set of their numbers. */
typedef struct {
  uint8_t *bytes;       /* the halves, in the order of their numbers */
  uint32_t *number;     /* slot of a hash set -> the number of a half plus one, or 0 */
  uint64_t count, room, slots;
  uint32_t bits;        /* of a number in a key */
} Halves;

typedef struct { uint32_t first, parent; } Run; /* from this state on, parents close after this one */
typedef struct { Run *runs; uint64_t count, room; } Runs;

typedef struct {
  uint64_t count, room;                       /* states */
  uint8_t *keys;
  Halves heads, tails;                        /* the halves of the states, if keys are not fingerprints */
  uint32_t pair_bytes;                        /* of a key with the numbers of two halves */
  uint8_t *parents;                           /* distance from the parent of its run */
  Runs runs;
  int files[2];                               /* of the keys and of the parents, or MEMORY */
  uint64_t level, end, judged, expanded;      /* the level is [level, end) */
  const uint8_t *given;                       /* the states of the level, if the caller stores them */
  uint8_t *now, *next;                        /* the states of the level, if keys are fingerprints */
  uint64_t next_room, left;                   /* `now` is freed up to byte `left` */
  uint64_t *failed;
} Store;

typedef struct { Letter *letter; uint32_t *slot; } Fresh; /* a new state without a number, in the set */

/* The part of the hash set that one thread changes. */
typedef struct {
  Bucket *buckets;
  int prefix;                                 /* bits of a hash that order the buckets */
  uint64_t size;                              /* buckets, without REACH spare ones */
  int far;                                    /* true if some state is far from its home bucket */
  uint64_t count;                             /* states */
  uint64_t number, parts;                     /* this part, and the number of parts */
  Fresh *fresh;                               /* the new states of a round, */
  uint64_t from[CHUNKS + 1], fresh_room;      /* those of each chunk from this index on */
  uint64_t *failed;
} Set;

/* States of a round that one of several threads expands. */
typedef struct {
  uint64_t letters[THREADS], end[THREADS];    /* its successors in each outbox of the worker */
  uint64_t ordered, new_states, first_new;    /* those that are new, in `ordered` of the worker */
  uint64_t runs, runs_end;                    /* the runs of their parents */
} Chunk;

/* The transitions of the states, for liveness. */
typedef struct {
  uint32_t *offsets, *targets;
  Label *labels;
  uint64_t states, edges, found;              /* the written offsets, labels and targets */
  uint64_t state_room, edge_room;
  int files[3], kept;                         /* of the arrays; true if the search keeps transitions */
} Edges;

/* The results of a worker, which the caller reads. */
typedef struct {
  uint64_t generated, stuck, first_stuck, undefined, undefined_step, failed;
  uint64_t taken[ACTIONS + 1], missed[CONJUNCTS + 1];
  uint64_t open[CLAIMS + 1], broken[CLAIMS + 1], broken_by[CLAIMS + 1][WORDS];
  uint64_t seen[WITNESSES + 1], first_seen[WITNESSES + 1];
} Found;

typedef struct {
  Many cells[CELLS + 1];                      /* the block of states, unpacked, and */
  Packed packed[BLOCK];                       /* packed */
  Born *born;                                 /* successors of the block, from index 1 on */
  uint32_t births, first[BLOCK], last[BLOCK];
  uint32_t reading;                           /* the state of the block that `inside` reads */
  Bits undefined;                             /* the states in which a term is undefined */
  int judges_steps;                           /* true if a claim about steps is undecided */
  Packed recent[1 << RECENT_BITS];            /* the last successor for each hash prefix */
  Outbox out[THREADS];                        /* for each part of the hash set */
  uint64_t sent;                              /* letters in all outboxes */
  Fresh **ordered;                            /* the new states that it sent, by place */
  Draft *drafts;                              /* their keys */
  uint32_t *incomplete;                       /* the drafts that need a number for a new half */
  uint64_t new_states, incompletes, room;
  Runs runs;                                  /* of their parents */
  Set set;
  Search *search;
  uint64_t number;
  Found found;
} __attribute__((aligned(64))) Worker;

struct Search {
  Store store;
  Edges edges;
  uint64_t threads, quota, round;             /* states to handle; those of this round */
  Chunk *chunks, *before;                     /* of this round, and of the round before */
  uint64_t chunks_before;
  uint64_t largest_part;                      /* the most states of a part of the hash set, after it */
  int rebuilds;                               /* true if the parts are rebuilt in this round */
  uint64_t *hashes;                           /* of some states, for a rebuild */
  uint64_t waiting, turn, failed;
  void (*work)(Worker *);                     /* of all threads; NULL ends them */
  pthread_t thread[THREADS];
  pthread_mutex_t mutex;
  pthread_cond_t turned;
  Worker worker[];
};
