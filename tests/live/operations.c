/*
 * Known numbers of asynchronous operations: `operations FILE` does them by io_uring, `operations FILE libaio` by libaio.
 * By raw system calls, so that it runs wherever the kernel has them. Ends with 77 where there is no io_uring.
 *
 * io_uring: 40 writes of 4096 bytes, each linked to an fsync; 30 reads of 4096 bytes through a registered file into a
 * registered buffer; 20 vectored reads of 2 x 2048; one read from a file that is open for writing alone, which fails; one
 * poll that completes three times and is then taken back, where the kernel has such (5.13).
 * libaio: 25 writes of 8192 bytes, 5 vectored reads of 2 x 4096, one fsync, one refused operation behind them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define ENTRIES 64
#define BLOCK 4096

/* Came with polls that complete more than once. */
#define FEATURES_OF_5_13 (1U << 10)

static int ring;
static unsigned features;
static unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
static struct io_uring_sqe *sqes;
static struct io_uring_cqe *cqes;
static unsigned queued;

static void check(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

static void set_up(void)
{
	struct io_uring_params p = {};
	char *sq, *cq;

	ring = syscall(SYS_io_uring_setup, ENTRIES, &p);
	if (ring < 0)
		exit(77);
	features = p.features;
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
		  IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(*cqes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		  ring, IORING_OFF_CQ_RING);
	sqes = mmap(NULL, p.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
		    IORING_OFF_SQES);
	check(sq != MAP_FAILED && cq != MAP_FAILED && sqes != MAP_FAILED, "mmap");
	sq_tail = (unsigned *)(sq + p.sq_off.tail);
	sq_mask = (unsigned *)(sq + p.sq_off.ring_mask);
	sq_array = (unsigned *)(sq + p.sq_off.array);
	cq_head = (unsigned *)(cq + p.cq_off.head);
	cq_tail = (unsigned *)(cq + p.cq_off.tail);
	cq_mask = (unsigned *)(cq + p.cq_off.ring_mask);
	cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
}

static struct io_uring_sqe *queue(int op, int fd, const void *address, unsigned length, long offset)
{
	unsigned tail = *sq_tail, at = tail & *sq_mask;
	struct io_uring_sqe *sqe = &sqes[at];

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = op;
	sqe->fd = fd;
	sqe->addr = (unsigned long)address;
	sqe->len = length;
	sqe->off = offset;
	sqe->user_data = ++queued;
	sq_array[at] = at;
	__atomic_store_n(sq_tail, tail + 1, __ATOMIC_RELEASE);
	return sqe;
}

/* Submits what is queued and takes `results`; gives the last. */
static int run(unsigned submitted, unsigned results)
{
	int last = 0;

	check(syscall(SYS_io_uring_enter, ring, submitted, results, IORING_ENTER_GETEVENTS, NULL, 0) == (int)submitted,
	      "io_uring_enter");
	for (; results; results--) {
		while (*cq_head == __atomic_load_n(cq_tail, __ATOMIC_ACQUIRE))
			syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
		last = cqes[*cq_head & *cq_mask].res;
		__atomic_store_n(cq_head, *cq_head + 1, __ATOMIC_RELEASE);
	}
	return last;
}

static void by_uring(const char *path, char *buffer)
{
	struct iovec halves[2] = { { buffer, BLOCK / 2 }, { buffer + BLOCK / 2, BLOCK / 2 } };
	struct iovec registered = { buffer, BLOCK };
	int fd = open(path, O_CREAT | O_RDWR, 0644), only = open(path, O_WRONLY), ends[2];

	check(fd >= 0 && only >= 0 && !pipe(ends), "open");
	set_up();
	for (int i = 0; i < 40; i++) {
		queue(IORING_OP_WRITE, fd, buffer, BLOCK, (long)i * BLOCK)->flags = IOSQE_IO_LINK;
		queue(IORING_OP_FSYNC, fd, NULL, 0, 0);
		check(run(2, 2) == 0, "fsync");
	}
	check(!syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, &fd, 1), "register files");
	check(!syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &registered, 1), "register buffers");
	for (int i = 0; i < 30; i++) {
		queue(IORING_OP_READ_FIXED, 0, buffer, BLOCK, (long)i * BLOCK)->flags = IOSQE_FIXED_FILE;
		check(run(1, 1) == BLOCK, "read fixed");
	}
	for (int i = 0; i < 20; i++) {
		queue(IORING_OP_READV, fd, halves, 2, (long)i * BLOCK);
		check(run(1, 1) == BLOCK, "readv");
	}
	queue(IORING_OP_READ, only, buffer, BLOCK, 0);
	check(run(1, 1) < 0, "a read that must fail");
	if (!(features & FEATURES_OF_5_13))
		return;
	struct io_uring_sqe *sqe = queue(IORING_OP_POLL_ADD, ends[0], NULL, IORING_POLL_ADD_MULTI, 0);
	sqe->poll32_events = POLLIN;
	run(1, 0);
	for (int i = 0; i < 3; i++) {
		check(write(ends[1], "x", 1) == 1, "write");
		run(0, 1);
		check(read(ends[0], buffer, 1) == 1, "read");
	}
	queue(IORING_OP_POLL_REMOVE, -1, (void *)(unsigned long)queued, 0, 0);
	run(1, 2);
}

static void by_libaio(const char *path, char *buffer)
{
	struct iovec halves[2] = { { buffer, BLOCK }, { buffer + BLOCK, BLOCK } };
	struct iocb iocbs[32] = {}, *places[32];
	struct io_event events[32];
	aio_context_t context = 0;
	int fd = open(path, O_CREAT | O_RDWR, 0644);

	check(fd >= 0 && !syscall(SYS_io_setup, 32, &context), "io_setup");
	for (int i = 0; i < 32; i++) {
		places[i] = &iocbs[i];
		iocbs[i].aio_fildes = i == 31 ? -1 : fd;
		iocbs[i].aio_lio_opcode = i < 25 ? IOCB_CMD_PWRITE : i < 30 ? IOCB_CMD_PREADV : IOCB_CMD_FSYNC;
		iocbs[i].aio_buf = (unsigned long)(i < 25 ? (void *)buffer : halves);
		iocbs[i].aio_nbytes = i < 25 ? 2 * BLOCK : i < 30 ? 2 : 0;
		iocbs[i].aio_offset = i < 30 ? (long)(i % 25) * 2 * BLOCK : 0;
		if (i >= 30)
			iocbs[i].aio_buf = 0;
	}
	check(syscall(SYS_io_submit, context, 32, places) == 31, "io_submit");
	for (int got = 0; got < 31;) {
		long more = syscall(SYS_io_getevents, context, 1, 32, events, NULL);

		check(more > 0, "io_getevents");
		got += more;
	}
}

int main(int count, char **words)
{
	static char buffer[4 * BLOCK] __attribute__((aligned(BLOCK)));

	if (count > 2)
		by_libaio(words[1], buffer);
	else
		by_uring(words[1], buffer);
	return 0;
}
