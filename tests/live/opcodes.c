/*
 * Each operation of io_uring that does something with files, once or a few times: `opcodes FOLDER` prints for each its name in
 * linux/io_uring.h, its result, the bytes that it moved (-1: it moves none), and whether it is of the file `f`. One that the
 * kernel does not have is not printed. By raw system calls and numbers, for headers that are older than the kernel; 77: no io_uring.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096
#define P(x) ((uint64_t)(uintptr_t)(x))
enum { NO_BYTES = -1, AS_RESULT = -2 };

static int ring, enters;
static unsigned *tail, *mask, *array, *head, *done, *done_mask;
static struct io_uring_sqe *entries;
static struct io_uring_cqe *results;
static unsigned char supported[256];

static void must(int yes, const char *what)
{
	if (!yes) {
		fprintf(stderr, "%s: %s\n", what, strerror(errno));
		exit(1);
	}
}

static void set_up(void)
{
	struct io_uring_params p = { 0 };
	struct io_uring_probe *probe = calloc(1, sizeof(*probe) + 256 * sizeof(struct io_uring_probe_op));
	char *queue, *completed;

	ring = syscall(SYS_io_uring_setup, 8, &p);
	if (ring < 0)
		exit(77);
	queue = mmap(0, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, ring,
		     IORING_OFF_SQ_RING);
	completed = mmap(0, p.cq_off.cqes + p.cq_entries * sizeof(*results), PROT_READ | PROT_WRITE, MAP_SHARED,
			 ring, IORING_OFF_CQ_RING);
	entries = mmap(0, p.sq_entries * sizeof(*entries), PROT_READ | PROT_WRITE, MAP_SHARED, ring,
		       IORING_OFF_SQES);
	must(queue != MAP_FAILED && completed != MAP_FAILED && entries != MAP_FAILED, "mmap");
	tail = (unsigned *)(queue + p.sq_off.tail);
	mask = (unsigned *)(queue + p.sq_off.ring_mask);
	array = (unsigned *)(queue + p.sq_off.array);
	head = (unsigned *)(completed + p.cq_off.head);
	done = (unsigned *)(completed + p.cq_off.tail);
	done_mask = (unsigned *)(completed + p.cq_off.ring_mask);
	results = (struct io_uring_cqe *)(completed + p.cq_off.cqes);
	must(!syscall(SYS_io_uring_register, ring, IORING_REGISTER_PROBE, probe, 256), "probe");
	for (int i = 0; i < probe->ops_len; i++)
		supported[probe->ops[i].op] = probe->ops[i].flags & IO_URING_OP_SUPPORTED;
}

/* Does one, and says what it did; its result. */
static int one(const char *name, struct io_uring_sqe entry, int moved, int of_file)
{
	unsigned at = *tail & *mask;
	int result, more;
	long sum = 0;

	if (!supported[entry.opcode])
		return -EOPNOTSUPP;
	entries[at] = entry;
	array[at] = at;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	must(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1, "io_uring_enter");
	do {
		while (*head == __atomic_load_n(done, __ATOMIC_ACQUIRE))
			syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
		struct io_uring_cqe *got = &results[*head & *done_mask];

		result = got->res;
		more = got->flags & IORING_CQE_F_MORE;
		sum += result > 0 ? result : 0;
		__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	} while (more);
	printf("%s\t%d\t%ld\t%d\n", name, result, moved == AS_RESULT ? sum : (long)moved, of_file);
	return result;
}

#define DO(name, moved, of_file, ...) one(name, (struct io_uring_sqe){ __VA_ARGS__ }, moved, of_file)

static void reads_and_writes(int fd, char *data)
{
	struct iovec halves[2] = { { data, PAGE }, { data + PAGE, PAGE } }, all = { data, 2 * PAGE };
	static struct iovec registered[2];

	registered[0] = all;
	must(!syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, registered, 1), "register buffers");
	DO("write", AS_RESULT, 1, .opcode = 23, .fd = fd, .addr = P(data), .len = 2 * PAGE);
	DO("writev", AS_RESULT, 1, .opcode = 2, .fd = fd, .addr = P(halves), .len = 2, .off = 2 * PAGE);
	DO("write_fixed", AS_RESULT, 1, .opcode = 5, .fd = fd, .addr = P(data), .len = PAGE, .off = 4 * PAGE);
	DO("writev_fixed", AS_RESULT, 1, .opcode = 61, .fd = fd, .addr = P(&halves[0]), .len = 1,
	   .off = 5 * PAGE);
	DO("read", AS_RESULT, 1, .opcode = 22, .fd = fd, .addr = P(data), .len = 100);
	DO("read", AS_RESULT, 1, .opcode = 22, .fd = fd, .addr = P(data), .len = PAGE, .off = 1 << 20);
	DO("readv", AS_RESULT, 1, .opcode = 1, .fd = fd, .addr = P(halves), .len = 2);
	DO("read_fixed", AS_RESULT, 1, .opcode = 4, .fd = fd, .addr = P(data), .len = PAGE);
	DO("readv_fixed", AS_RESULT, 1, .opcode = 60, .fd = fd, .addr = P(&halves[1]), .len = 1);
	DO("sync_file_range", NO_BYTES, 1, .opcode = 8, .fd = fd, .len = PAGE,
	   .sync_range_flags = SYNC_FILE_RANGE_WRITE);
	DO("fsync", NO_BYTES, 1, .opcode = 3, .fd = fd);
	DO("fsync", NO_BYTES, 1, .opcode = 3, .fd = fd, .fsync_flags = IORING_FSYNC_DATASYNC);
	DO("fallocate", NO_BYTES, 1, .opcode = 17, .fd = fd, .off = 1 << 16, .addr = 1 << 16);
	DO("fadvise", NO_BYTES, 1, .opcode = 24, .fd = fd, .len = PAGE, .fadvise_advice = POSIX_FADV_WILLNEED);
	DO("madvise", NO_BYTES, 0, .opcode = 25, .fd = -1, .addr = P(data), .len = PAGE,
	   .fadvise_advice = MADV_NORMAL);
	DO("ftruncate", NO_BYTES, 1, .opcode = 55, .fd = fd, .off = 3 * PAGE);
}

static void names_and_attributes(int fd)
{
	static struct statx found;
	static struct open_how how = { .flags = O_RDONLY };
	static char value[16] = "value";
	int opened;

	opened =
		DO("openat", NO_BYTES, 0, .opcode = 18, .fd = AT_FDCWD, .addr = P("f"), .open_flags = O_RDONLY);
	DO("close", NO_BYTES, 0, .opcode = 19, .fd = opened);
	opened = DO("openat2", NO_BYTES, 0, .opcode = 28, .fd = AT_FDCWD, .addr = P("f"), .addr2 = P(&how),
		    .len = sizeof(how));
	DO("close", NO_BYTES, 0, .opcode = 19, .fd = opened);
	DO("openat", NO_BYTES, 0, .opcode = 18, .fd = AT_FDCWD, .addr = P("none"), .open_flags = O_RDONLY);
	DO("statx", NO_BYTES, 0, .opcode = 21, .fd = AT_FDCWD, .addr = P("f"), .addr2 = P(&found),
	   .len = STATX_BASIC_STATS);
	DO("mkdirat", NO_BYTES, 0, .opcode = 37, .fd = AT_FDCWD, .addr = P("d"), .len = 0755);
	DO("symlinkat", NO_BYTES, 0, .opcode = 38, .fd = AT_FDCWD, .addr = P("f"), .addr2 = P("s"));
	DO("linkat", NO_BYTES, 0, .opcode = 39, .fd = AT_FDCWD, .addr = P("f"), .len = AT_FDCWD,
	   .addr2 = P("h"));
	DO("renameat", NO_BYTES, 0, .opcode = 35, .fd = AT_FDCWD, .addr = P("h"), .len = AT_FDCWD,
	   .addr2 = P("i"));
	DO("unlinkat", NO_BYTES, 0, .opcode = 36, .fd = AT_FDCWD, .addr = P("i"));
	DO("fsetxattr", NO_BYTES, 1, .opcode = 41, .fd = fd, .addr = P("user.a"), .addr2 = P(value), .len = 5);
	DO("setxattr", NO_BYTES, 0, .opcode = 42, .addr = P("user.b"), .addr2 = P(value), .addr3 = P("f"),
	   .len = 5);
	DO("fgetxattr", NO_BYTES, 1, .opcode = 43, .fd = fd, .addr = P("user.a"), .addr2 = P(value), .len = 16);
	DO("getxattr", NO_BYTES, 0, .opcode = 44, .addr = P("user.b"), .addr2 = P(value), .addr3 = P("f"),
	   .len = 16);
}

static void pipes(int fd, char *data)
{
	struct io_uring_sqe provide = { .opcode = 31, .fd = 4, .addr = P(data), .len = PAGE, .buf_group = 7 };
	int a[2], b[2], file = fd, registered;

	must(!pipe(a) && !pipe(b), "pipe");
	DO("splice", AS_RESULT, 0, .opcode = 30, .fd = a[1], .splice_fd_in = fd, .splice_off_in = 0, .off = -1,
	   .len = PAGE);
	DO("tee", AS_RESULT, 0, .opcode = 33, .fd = b[1], .splice_fd_in = a[0], .len = 1000);
	DO("splice", AS_RESULT, 1, .opcode = 30, .fd = fd, .splice_fd_in = b[0], .splice_off_in = -1, .off = 0,
	   .len = 1000);
	one("provide_buffers", provide, NO_BYTES, 0);
	must(write(b[1], data, 500) == 500, "write");
	close(b[1]);
	DO("read_multishot", AS_RESULT, 0, .opcode = 49, .fd = b[0], .flags = IOSQE_BUFFER_SELECT,
	   .buf_group = 7, .off = -1);
	registered = syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, &file, 1);
	must(!registered, "register files");
	DO("fixed_fd_install", NO_BYTES, 1, .opcode = 54, .fd = 0, .flags = IOSQE_FIXED_FILE);
	file = -1;
	DO("files_update", NO_BYTES, 0, .opcode = 20, .fd = -1, .addr = P(&file), .len = 1);
}

int main(int argc, char **argv)
{
	char *data;
	int fd;

	must(argc == 2 && !chdir(argv[1]) && !posix_memalign((void **)&data, PAGE, 4 * PAGE), "arguments");
	memset(data, 1, 4 * PAGE);
	fd = open("f", O_CREAT | O_RDWR | O_TRUNC, 0644);
	must(fd >= 0, "open");
	set_up();
	reads_and_writes(fd, data);
	names_and_attributes(fd);
	pipes(fd, data);
	return 0;
}
