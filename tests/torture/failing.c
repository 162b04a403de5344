/* Preloaded: the n-th allocation, or the n-th read or write of a file, fails, and if `all`, every later one.
 *
 * `all` of memory counts large ones alone: CPython handles no exception without some bytes, and malloc still has these then.
 * A process begins to count when it calls iowhy_fail(), or at once if its name is $IOWHY_FAIL_IN, with what $IOWHY_FAIL
 * says: "memory 4711 once". What it forks has the same count. Only files fail: no pipe, socket or terminal answers EIO.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <unistd.h>

enum { NOTHING, MEMORY, READS, WRITES };
enum { LARGE = 1024 };

static int failing = NOTHING, all, number;
static _Atomic long alone, *left = &alone;
static __thread int inside;

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

void iowhy_fail(int kind, long nth, int every, int error) {
  number = error;
  all = every;
  *left = nth;
  failing = kind;
}

/* Whether what was asked for has failed, here or in what was forked. */
int iowhy_has_failed(void) { return *left <= 0; }

__attribute__((constructor)) static void begin(void) {
  const char *in = getenv("IOWHY_FAIL_IN"), *what = getenv("IOWHY_FAIL");
  char kind[16], how[16];
  long nth;
  void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared != MAP_FAILED) left = shared;
  if (!in || !what || strcmp(in, program_invocation_short_name)) return;
  if (sscanf(what, "%15s %ld %15s", kind, &nth, how) != 3) return;
  int which = !strcmp(kind, "memory") ? MEMORY : !strcmp(kind, "reads") ? READS : WRITES;
  iowhy_fail(which, nth, !strcmp(how, "all"), !strcmp(kind, "space") ? ENOSPC : EIO);
}

static int now(int kind) {
  if (failing != kind || inside) return 0;
  long before = atomic_fetch_sub(left, 1);
  return before == 1 || (before < 1 && all);
}

static int short_of(size_t size) { return (!all || size >= LARGE) && now(MEMORY) && (errno = ENOMEM, 1); }
void *malloc(size_t size) { return short_of(size) ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return short_of(n * size) ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { return short_of(size) ? NULL : __libc_realloc(old, size); }

static void *real(const char *name) {
  inside++;
  void *found = dlsym(RTLD_NEXT, name);
  inside--;
  return found;
}

static int refused(int kind, int fd) {
  struct stat of;
  if (failing != kind || fd < 3 || fstat(fd, &of) || !S_ISREG(of.st_mode)) return 0;
  if (kind == READS && major(of.st_dev) == 0 && of.st_size == 0) return 0; /* /proc, /sys */
  return now(kind) && (errno = number, 1);
}

#define CALL(kind, result, name, parameters, ...)        \
  result name parameters {                               \
    static result(*next) parameters;                     \
    if (!next) next = (result(*) parameters)real(#name); \
    if (refused(kind, fd)) return -1;                    \
    return next(__VA_ARGS__);                            \
  }

CALL(READS, ssize_t, read, (int fd, void *to, size_t n), fd, to, n)
CALL(READS, ssize_t, pread, (int fd, void *to, size_t n, off_t at), fd, to, n, at)
CALL(READS, ssize_t, pread64, (int fd, void *to, size_t n, off64_t at), fd, to, n, at)
CALL(WRITES, ssize_t, write, (int fd, const void *from, size_t n), fd, from, n)
CALL(WRITES, ssize_t, pwrite, (int fd, const void *from, size_t n, off_t at), fd, from, n, at)
CALL(WRITES, ssize_t, pwrite64, (int fd, const void *from, size_t n, off64_t at), fd, from, n, at)
CALL(WRITES, int, fsync, (int fd), fd)
CALL(WRITES, int, fdatasync, (int fd), fd)
CALL(WRITES, int, ftruncate64, (int fd, off64_t n), fd, n)
