/*
 * Syncs a file at the end of a deep recursion whose stack, but for its innermost pages, is swapped out before each sync.
 * swapped FILE SECONDS prints how many of the pages that were given up it has in memory after the last sync, and how many those are.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define STACK (1 << 20)
#define PAGE 4096ul
#define DEEP 200
#define LEAST_SYNCS 100

static char *stack;
static int fd, seconds;
static volatile int sink;

__attribute__((noinline, noclone)) static void sync_at_the_end(void)
{
	char *here = (char *)((uintptr_t)__builtin_frame_address(0) & -PAGE);
	/* What libc keeps of the thread is at the stack's begin: that stays, as it is used. */
	char *from = here + 2 * PAGE, *end = stack + STACK - 4 * PAGE;
	uint64_t entries[STACK / PAGE];
	size_t pages = (end - from) / PAGE;
	int pagemap = open("/proc/self/pagemap", O_RDONLY);
	time_t until = time(NULL) + seconds;
	unsigned long resident = 0;

	for (int syncs = 0; syncs < LEAST_SYNCS || time(NULL) < until; syncs++)
		if (madvise(from, end - from, MADV_PAGEOUT) || pwrite(fd, "x", 1, 0) != 1 || fsync(fd))
			abort();
	if (pread(pagemap, entries, pages * sizeof(*entries), (uintptr_t)from / PAGE * sizeof(*entries)) !=
	    (ssize_t)(pages * sizeof(*entries)))
		abort();
	for (size_t page = 0; page < pages; page++)
		resident += entries[page] >> 63; /* mapped: in the swap's cache it may be in memory too */
	printf("%lu %zu\n", resident, pages);
}

__attribute__((noinline, noclone)) static void deeper(int left)
{
	volatile char frame[2048];

	memset((char *)frame, left, sizeof(frame));
	if (left)
		deeper(left - 1);
	else
		sync_at_the_end();
	sink += frame[left];
}

static void *begin(void *unused)
{
	deeper(DEEP);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_attr_t with_stack;
	pthread_t thread;

	(void)argc;
	fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	seconds = atoi(argv[2]);
	stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || stack == MAP_FAILED || pthread_attr_init(&with_stack) ||
	    pthread_attr_setstack(&with_stack, stack, STACK) || pthread_create(&thread, &with_stack, begin, NULL) ||
	    pthread_join(thread, NULL))
		abort();
	return 0;
}
