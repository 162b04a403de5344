/*
 * Three paths of functions, each with a known part of the time: what they wait in fsync and compute is measured here and
 * printed, one line per path: name, nanoseconds in fsync, nanoseconds on a CPU.
 *
 * paths FILE HOW SUMS LIBRARY UNIT, where HOW says in what the paths run: directly, in threads, deep in a recursion, in a
 * library that is loaded (LIBRARY: its file), in processes that are forked or run this program anew, in threads that end
 * after one call or one piece of computing, in threads of a pool that take any path's. UNIT: milliseconds, of which they
 * compute 1, 2 and 7. SUMS: a new file.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATHS 3
#define DEEP 200
#ifndef PATH
#define PATH __attribute__((noinline, noclone)) static
#endif

/* Milliseconds in fsync, however long one takes, but as many as give stacks enough on a slow disk, too; and units of computing. */
static const int syncs_ms[PATHS] = { 200, 300, 500 };
#define LEAST_SYNCS 40
/* How many times as long a pool is in it, whose threads are there at the same time. */
#define POOL_LONGER 4
static int longer = 1;
static const int computes[PATHS] = { 1, 2, 7 };
/* Pieces of a unit. One of a few milliseconds would have no tick, or one, of a hundred a second. */
#define PIECES 4
/* What a path does: all of its work, one sync, or one piece of computing. */
enum { ALL, ONE_SYNC, ONE_PIECE };

/* Shared with the processes that are forked. */
static struct sums {
	_Atomic uint64_t synced_ns, on_cpu_ns, syncs;
	uint64_t unit_ns; /* that is computed, times the path's number (of the first alone) */
} *sums;
static volatile uint64_t sink;
static const char *file_name;

static uint64_t now(clockid_t clock)
{
	struct timespec at;

	clock_gettime(clock, &at);
	return at.tv_sec * 1000000000ull + at.tv_nsec;
}

PATH void sync_once(int path, int fd)
{
	uint64_t before;

	if (pwrite(fd, "x", 1, 0) != 1)
		abort();
	before = now(CLOCK_MONOTONIC);
	if (fsync(fd))
		abort();
	sums[path].synced_ns += now(CLOCK_MONOTONIC) - before;
	sums[path].syncs++;
}

static int is_short(int path)
{
	return sums[path].syncs < LEAST_SYNCS || sums[path].synced_ns < longer * syncs_ms[path] * 1000000ull;
}

PATH void compute(uint64_t ns)
{
	uint64_t start = now(CLOCK_THREAD_CPUTIME_ID);

	while (now(CLOCK_THREAD_CPUTIME_ID) - start < ns)
		for (int i = 0; i < 200000; i++)
			sink += i * i;
}

PATH void work(int path, int part)
{
	uint64_t before = now(CLOCK_THREAD_CPUTIME_ID);

	if (part == ONE_PIECE) {
		compute(sums->unit_ns / PIECES);
	} else {
		int fd = open(file_name, O_RDWR | O_CREAT, 0600);

		do {
			sync_once(path, fd);
		} while (part == ALL && is_short(path));
		close(fd);
		if (part == ALL)
			compute(computes[path] * sums->unit_ns);
	}
	sums[path].on_cpu_ns += now(CLOCK_THREAD_CPUTIME_ID) - before;
}

/* More follows each call, so that none becomes a jump. */
PATH void path_of_a(int part) { work(0, part); sink++; }
PATH void path_of_b(int part) { work(1, part); sink++; }
PATH void path_of_c(int part) { work(2, part); sink++; }

#ifdef LIBRARY
void run_path(int path, int part, const char *file, struct sums *of_all)
{
	file_name = file;
	sums = of_all;
#else
static void run_path(int path, int part)
{
#endif
	switch (path) {
	case 0: path_of_a(part); break;
	case 1: path_of_b(part); break;
	default: path_of_c(part);
	}
	sink++;
}

#ifndef LIBRARY
static const char *const names[PATHS] = { "path_of_a", "path_of_b", "path_of_c" };

__attribute__((noinline, noclone)) static void deeper(int left, int path)
{
	if (left)
		deeper(left - 1, path);
	else
		run_path(path, ALL);
	sink++;
}

static void *thread(void *path)
{
	run_path((intptr_t)path, ALL);
	return NULL;
}

static void *one_call(void *path)
{
	run_path((intptr_t)path, ONE_SYNC);
	return NULL;
}

static void *one_piece(void *path)
{
	run_path((intptr_t)path, ONE_PIECE);
	return NULL;
}

static void in_thread(void *(*begin)(void *), int path)
{
	pthread_t id;

	if (pthread_create(&id, NULL, begin, (void *)(intptr_t)path) || pthread_join(id, NULL))
		abort();
}

static void in_short_threads(int path)
{
	while (is_short(path))
		in_thread(one_call, path);
	for (int piece = 0; sums->unit_ns && piece < computes[path] * PIECES; piece++)
		in_thread(one_piece, path);
}

/* Pieces that nobody of the pool has computed yet. One thread computes at a time: several would take turns between two ticks. */
static int pieces[PATHS];
static pthread_mutex_t computing = PTHREAD_MUTEX_INITIALIZER;

/* One of the pool: a call of each path that has not had its time, by turns, then pieces. */
static void *worker(void *unused)
{
	int left = 1;

	while (left) {
		left = 0;
		for (int path = 0; path < PATHS; path++)
			if (is_short(path)) {
				run_path(path, ONE_SYNC);
				left = 1;
			}
	}
	for (int path = 0; path < PATHS; path++)
		for (int more = 1; more;) {
			pthread_mutex_lock(&computing);
			more = pieces[path] > 0;
			if (more) {
				pieces[path]--;
				run_path(path, ONE_PIECE);
			}
			pthread_mutex_unlock(&computing);
		}
	return unused;
}

static void in_pool(void)
{
	pthread_t workers[4];

	longer = POOL_LONGER;
	for (int path = 0; sums->unit_ns && path < PATHS; path++)
		pieces[path] = computes[path] * PIECES;
	for (int i = 0; i < 4; i++)
		if (pthread_create(&workers[i], NULL, worker, NULL))
			abort();
	for (int i = 0; i < 4; i++)
		pthread_join(workers[i], NULL);
}

static void in_process(int path, const char *self, const char *sums_file)
{
	char number[2] = { '0' + path, 0 };

	if (fork()) {
		wait(NULL);
	} else if (path == 1) {
		execl(self, self, file_name, "once", sums_file, number, NULL);
		abort();
	} else {
		run_path(path, ALL);
		_exit(0);
	}
}

int main(int argc, char **argv)
{
	const char *how = argv[2], *sums_file = argv[3];
	void (*in_library)(int, int, const char *, struct sums *) = NULL;
	int shared = open(sums_file, O_RDWR | O_CREAT, 0600);

	file_name = argv[1];
	if (ftruncate(shared, 4096))
		abort();
	sums = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
	if (argc > 5)
		sums->unit_ns = atoi(argv[5]) * 1000000ull;
	if (!strcmp(how, "once")) {
		run_path(atoi(argv[4]), ALL);
		return 0;
	}
	if (!strcmp(how, "library"))
		in_library = (void (*)(int, int, const char *, struct sums *))dlsym(dlopen(argv[4], RTLD_NOW), "run_path");
	if (!strcmp(how, "pool"))
		in_pool();
	for (int path = 0; strcmp(how, "pool") && path < PATHS; path++) {
		if (!strcmp(how, "direct"))
			run_path(path, ALL);
		else if (!strcmp(how, "threads"))
			in_thread(thread, path);
		else if (!strcmp(how, "deep"))
			deeper(DEEP, path);
		else if (!strcmp(how, "library"))
			in_library(path, ALL, file_name, sums);
		else if (!strcmp(how, "processes"))
			in_process(path, argv[0], sums_file);
		else
			in_short_threads(path);
	}
	for (int path = 0; path < PATHS; path++)
		printf("%s %llu %llu\n", names[path], (unsigned long long)sums[path].synced_ns,
		       (unsigned long long)sums[path].on_cpu_ns);
	return 0;
}
#endif
