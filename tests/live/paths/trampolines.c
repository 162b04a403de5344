/*
 * Paths of functions of a program that is interpreted, as `python3 -X perf` of CPython 3.12 and 3.13 runs one: one function in C evaluates
 * all of them, each called through a piece of code of its own, which keeps no frame pointer, has no table, and is named in
 * /tmp/perf-PID.map alone. What each path waits in fsync is measured here and printed, as paths.c does.
 *
 * trampolines FILE
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Python/asm_trampoline.S: sub $8,%rsp; call *%rcx; add $8,%rsp; ret, filled up to sixteen bytes. */
static const unsigned char trampoline[16] = { 0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3 };
static const char *const functions[] = { "<module>", "main", "path_of_a", "path_of_b", "path_of_c", "sync_once" };
enum { MODULE, MAIN, PATH_A, PATH_C = PATH_A + 2, SYNC_ONCE, FUNCTIONS };
/* Milliseconds in fsync, however long one takes, but as many as give stacks enough on a slow disk, too. */
static const int syncs_ms[] = { 200, 300, 500 };
#define LEAST_SYNCS 40

static char *code;
static int fd;
static volatile uint64_t sink;

typedef uint64_t evaluator(uint64_t, int, int);

static uint64_t evaluate(uint64_t, int, int);

static uint64_t call(int function)
{
	uint64_t (*through)(uint64_t, int, int, evaluator *) = (void *)(code + sizeof(trampoline) * function);

	return through(0, function, 0, evaluate);
}

static uint64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000000000ull + at.tv_nsec;
}

/* All in one function, as the interpreter does: only the trampolines tell them apart. */
__attribute__((noinline, noclone)) static uint64_t evaluate(uint64_t state, int function, int unused)
{
	uint64_t sum = state, before;

	switch (function) {
	case MODULE:
		sum += call(MAIN);
		break;
	case MAIN:
		for (int path = PATH_A; path <= PATH_C; path++)
			sum += call(path);
		break;
	case SYNC_ONCE:
		if (pwrite(fd, "x", 1, 0) != 1)
			abort();
		before = now();
		if (fsync(fd))
			abort();
		sum += now() - before;
		break;
	default:
		for (int syncs = 0; syncs < LEAST_SYNCS || sum < syncs_ms[function - PATH_A] * 1000000ull; syncs++)
			sum += call(SYNC_ONCE);
		printf("%s %llu 0\n", functions[function], (unsigned long long)sum);
	}
	sink += unused;
	return sum;
}

int main(int argc, char **argv)
{
	char name[64];
	FILE *map;

	if (argc != 2)
		return 2;
	fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
	map = fopen(name, "w");
	for (int function = 0; function < FUNCTIONS; function++) {
		memcpy(code + sizeof(trampoline) * function, trampoline, sizeof(trampoline));
		fprintf(map, "%lx %zx py::%s:/app.py\n", (long)(code + sizeof(trampoline) * function), sizeof(trampoline),
			functions[function]);
	}
	fclose(map);
	if (mprotect(code, 4096, PROT_READ | PROT_EXEC))
		abort();
	sink += call(MODULE);
	return 0;
}
