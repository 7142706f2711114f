/* Arrays that grow. A function that fails writes the reason to `failed`.

   On Linux an array has its own pages, so it grows without a copy. It begins at a cache line, after a
   line with its size. An array that is read at random places can have huge pages: then the processor
   finds the address of a page more often without reading memory. The pages of an array can be those of
   a file: the system writes them to disk when it needs their memory. */

enum { LINE = 64, HUGE = 1 << 21 }; /* bytes of a cache line and of a huge page */

#define MEMORY (-1) /* the file of an array without a file */

#ifdef __linux__

/* Returns the array with room for so many bytes; it may have moved. The room of a file is on the disk
   before a page is written: a write to a page without room would end the process. */
static void *grown_in(uint64_t *failed, int file, void *old, uint64_t bytes) {
  uint64_t *line = old ? (uint64_t *)((uint8_t *)old - LINE) : NULL;
  uint64_t size = bytes + LINE;
  if (size >= HUGE) size = (size + HUGE - 1) / HUGE * HUGE;
  int kind = file == MEMORY ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  int refused = file == MEMORY ? 0 : EINTR;
  while (refused == EINTR) refused = posix_fallocate(file, 0, size); /* a signal interrupts it */
  if (refused) return *failed = REFUSED + refused, old;
  line = line ? mremap(line, *line, size, MREMAP_MAYMOVE)
              : mmap(NULL, size, PROT_READ | PROT_WRITE, kind, file, 0);
  if (line == MAP_FAILED) return *failed = NO_MEMORY, old;
  *line = size;
  return (uint8_t *)line + LINE;
}

static void *grown(uint64_t *failed, void *old, uint64_t bytes) { return grown_in(failed, MEMORY, old, bytes); }

/* Lets the array have huge pages, if the system has them. */
static void use_huge_pages(void *array) {
  uint64_t *line = (uint64_t *)((uint8_t *)array - LINE);
  if (*line >= HUGE) madvise(line, *line, MADV_HUGEPAGE);
}

static void dropped(void *array) {
  uint64_t *line = array ? (uint64_t *)((uint8_t *)array - LINE) : NULL;
  if (line) munmap(line, *line);
}

#else

static void *grown(uint64_t *failed, void *old, uint64_t bytes) {
  void *made = realloc(old, bytes);
  if (!made) *failed = NO_MEMORY;
  return made ? made : old;
}

static void *grown_in(uint64_t *failed, int file, void *old, uint64_t bytes) {
  (void)file; /* without mremap, every array is in memory */
  return grown(failed, old, bytes);
}

static void use_huge_pages(void *array) { (void)array; }

static void dropped(void *array) { free(array); }

#endif

/* Moves an array to a file with room for it. A search that failed moves nothing. */
static void *moved(uint64_t *failed, int file, void *array, uint64_t used, uint64_t room) {
  void *made = *failed ? NULL : grown_in(failed, file, NULL, room);
  if (*failed) return array;
  memcpy(made, array, used);
  dropped(array);
  return made;
}
