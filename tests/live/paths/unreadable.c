/* Syncs a file, a hundred times at least, its stack pointer where no stack is: its path cannot be read. unreadable FILE SECONDS */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* fsync with the stack pointer in memory that may not be read. */
static long sync_without_stack(int fd, char *nowhere)
{
	long ret;
#if defined(__x86_64__)
	asm volatile("mov %%rsp, %%rbx; mov %2, %%rsp; syscall; mov %%rbx, %%rsp"
		     : "=a"(ret) : "0"((long)SYS_fsync), "r"(nowhere), "D"((long)fd) : "rbx", "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long x0 asm("x0") = fd;
	register long x8 asm("x8") = SYS_fsync;
	asm volatile("mov x19, sp; mov sp, %2; svc 0; mov sp, x19"
		     : "+r"(x0) : "r"(x8), "r"(nowhere) : "x19", "memory");
	ret = x0;
#endif
	return ret;
}

int main(int argc, char **argv)
{
	char *nowhere = mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	time_t end = time(NULL) + atoi(argv[2]);
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);

	(void)argc;
	for (int syncs = 0; syncs < 100 || time(NULL) < end; syncs++)
		if (pwrite(fd, "x", 1, 0) != 1 || sync_without_stack(fd, nowhere + (1 << 15)))
			abort();
	return 0;
}
