/* Mixes of calls on memory, rings, and what has a descriptor and no file. */
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "mixes.h"

static char data[16 * PAGE];

static int filled(int pages)
{
	int fd = CALL(openat, AT_FDCWD, "f", O_RDWR | O_CREAT, 0644);

	for (int i = 0; i < pages; i++)
		MOVE(write, fd, data, PAGE);
	CALL(fsync, fd);
	return fd;
}

static void remapped(void)
{
	int fd = filled(8);
	char *at = (char *)CALL(mmap, 0, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	at[0] = 1;
	at = (char *)CALL(mremap, at, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE);
	must(at != MAP_FAILED, "mremap");
	at[7 * PAGE] = 1;
	CALL(msync, at, 8 * PAGE, MS_SYNC);
	CALL(msync, at + 1, PAGE, MS_SYNC); /* EINVAL */
	CALL(madvise, at, 8 * PAGE, MADV_DONTNEED);
	CALL(munmap, at, 8 * PAGE);
	CALL(msync, at, PAGE, MS_SYNC); /* ENOMEM */
}

static void userfault(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = CALL(userfaultfd, O_CLOEXEC | 1 /* user mode only */);

	if (fd < 0)
		cannot("userfaultfd");
	CALL(ioctl, fd, UFFDIO_API, &api);
	CALL(close, fd);
}

static void memfds(void)
{
	int fd = CALL(memfd_create, "m", MFD_CLOEXEC);

	MOVE(write, fd, data, 5000);
	CALL(ftruncate, fd, 100);
	MOVE(pread64, fd, data, 5000, 0);
	CALL(fallocate, fd, 0, 0, 8 * PAGE);
}

static void signalled(void)
{
	int fd = CALL(eventfd2, 3, EFD_NONBLOCK);
	uint64_t value = 5;

	MOVE(write, fd, &value, 8);
	MOVE(read, fd, &value, 8);
	must(value == 8, "the sum");
	MOVE(read, fd, &value, 8); /* EAGAIN */
	MOVE(write, fd, &value, 3); /* EINVAL */
}

static void pipes(void)
{
	int ends[2];

	CALL(pipe2, ends, O_NONBLOCK);
	while (MOVE(write, ends[1], data, 3 * PAGE) > 0) /* the last is a part, then EAGAIN */
		;
	while (MOVE(read, ends[0], data, 5000) > 0)
		;
	CALL(close, ends[1]);
	MOVE(read, ends[0], data, 1);
}

static void sockets(void)
{
	int ends[2], fd = filled(1);
	struct iovec v = { data, 100 };
	char space[CMSG_SPACE(sizeof(int))] = { 0 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, ends);
	CALL(sendmsg, ends[0], &m, 0);
	CALL(recvmsg, ends[1], &m, 0);
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	MOVE(pread64, fd, data, 77, 0);
	MOVE(write, ends[0], data, 300);
	MOVE(read, ends[1], data, 200);
	MOVE(sendfile, ends[0], fd, NULL, 100);
	CALL(sendto, ends[0], data, 10, 0, NULL, 0);
	CALL(recvfrom, ends[1], data, 500, 0, NULL, NULL);
}

struct ring {
	int fd;
	unsigned *tail, *mask, *array;
	struct io_uring_sqe *entries;
};

static void ring_made(struct ring *r)
{
	struct io_uring_params p = { 0 };
	char *queue;

	r->fd = CALL(io_uring_setup, 8, &p);
	if (r->fd < 0)
		cannot("io_uring_setup");
	queue = (char *)CALL(mmap, 0, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE,
			     MAP_SHARED, r->fd, IORING_OFF_SQ_RING);
	r->entries = (void *)CALL(mmap, 0, p.sq_entries * sizeof(*r->entries), PROT_READ | PROT_WRITE,
				  MAP_SHARED, r->fd, IORING_OFF_SQES);
	r->tail = (unsigned *)(queue + p.sq_off.tail);
	r->mask = (unsigned *)(queue + p.sq_off.ring_mask);
	r->array = (unsigned *)(queue + p.sq_off.array);
}

static void submitted(struct ring *r, struct io_uring_sqe entry)
{
	unsigned at = *r->tail & *r->mask;

	r->entries[at] = entry;
	r->array[at] = at;
	__atomic_store_n(r->tail, *r->tail + 1, __ATOMIC_RELEASE);
	must(CALL(io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1, "one is submitted");
}

static void rings(void)
{
	int fd = filled(4);
	struct ring r;

	ring_made(&r);
	submitted(&r, (struct io_uring_sqe){ .opcode = IORING_OP_WRITE, .fd = fd, .addr = (uint64_t)data, .len = 6 * PAGE });
	submitted(&r, (struct io_uring_sqe){ .opcode = IORING_OP_READ, .fd = fd, .addr = (uint64_t)data, .len = 5000 });
	submitted(&r, (struct io_uring_sqe){ .opcode = IORING_OP_FSYNC, .fd = fd });
	submitted(&r, (struct io_uring_sqe){ .opcode = IORING_OP_FALLOCATE, .fd = fd, .addr = 1 << 20 });
	submitted(&r, (struct io_uring_sqe){ .opcode = IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = (uint64_t) "f", .open_flags = O_RDONLY });
	submitted(&r, (struct io_uring_sqe){ .opcode = IORING_OP_UNLINKAT, .fd = AT_FDCWD, .addr = (uint64_t) "f" });
	submitted(&r, (struct io_uring_sqe){ .opcode = IORING_OP_CLOSE, .fd = fd });
}

const struct mix memory_mixes[] = {
	{ "remapped", remapped }, { "userfault", userfault }, { "memfds", memfds }, { "signalled", signalled },
	{ "pipes", pipes },	  { "sockets", sockets },     { "rings", rings },   { 0 },
};
