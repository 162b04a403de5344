/* Small mixes of calls that keep their own log: each call is made by CALL, which counts it, its errors and its bytes. */
#ifndef MIXES_H
#define MIXES_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096

struct mix {
	const char *name;
	void (*run)(void);
};

extern const struct mix file_mixes[], memory_mixes[], process_mixes[];

/* Makes the call and notes it: counted, an error when it fails, its bytes when `moves` and it gives some. */
long noted(const char *name, int moves, long number, ...);

#define CALL(name, ...) noted(#name, 0, SYS_##name, ##__VA_ARGS__)
#define MOVE(name, ...) noted(#name, 1, SYS_##name, ##__VA_ARGS__)

/* The call is not there, or not allowed: the mix ends here, and says so. */
void cannot(const char *why);
/* What must be so for the mix to be the one that it says. */
void must(int holds, const char *what);
/* A process that belongs to the mix, besides its own. */
void has_process(pid_t pid);
/* Counts what was not made by CALL (in a process that shares nothing with the log, or by the libc). */
void note(const char *name, long calls, long errors, long bytes);

#endif
