/*
 * Uses two files, each in a function of its own: one by calls, over and over, whose pages are in memory, the other through its mapping,
 * page by page, whose pages are not.
 *
 * files CALLED MAPPED
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Of computing in read calls. */
#define LEAST_NS 1000000000ull
#define PAGE 4096
/* Has no divisor with a number of pages that is a power of two: each comes once, and none after its neighbour. */
#define STRIDE 4097

static volatile uint64_t sink;

static uint64_t on_cpu(void)
{
	struct timespec at;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
	return at.tv_sec * 1000000000ull + at.tv_nsec;
}

static int opened(const char *name, size_t *bytes)
{
	int fd = open(name, O_RDONLY);
	struct stat of;

	if (fd < 0 || fstat(fd, &of))
		abort();
	*bytes = of.st_size;
	return fd;
}

__attribute__((noinline)) static void read_by_calls(const char *name)
{
	static char buffer[1 << 18];
	uint64_t before = on_cpu();
	size_t bytes;
	int fd = opened(name, &bytes);

	while (on_cpu() - before < LEAST_NS)
		for (size_t at = 0; at < bytes; at += sizeof(buffer))
			if (pread(fd, buffer, sizeof(buffer), at) < 0)
				abort();
	sink += buffer[0];
}

__attribute__((noinline)) static void touch_mapping(const char *name)
{
	size_t bytes;
	int fd = opened(name, &bytes);
	volatile char *memory;

	if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		abort();
	memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED || madvise((void *)memory, bytes, MADV_RANDOM))
		abort();
	for (size_t page = 0; page < bytes / PAGE; page++)
		sink += memory[page * STRIDE % (bytes / PAGE) * PAGE];
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	read_by_calls(argv[1]);
	touch_mapping(argv[2]);
	sink++;
	return 0;
}
