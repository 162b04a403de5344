/*
 * Two threads that reap, each from a ring (io_uring) or context (libaio) of its own: through one pages of a file are
 * read, one after another, the other waits for nothing. Usage: rings uring|registered|polled|worker|libaio FILE READS
 * With `libaio` or `uring` and a way behind it, `uring-epoll`, both wait for an eventfd in that way before they reap: read, poll,
 * epoll, or late (an epoll that watched before the ring had an eventfd). `uring-itself`: an epoll that watches the ring.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096

struct ring {
	int fd;
	unsigned *tail, *mask, *array, *flags, *head, *done;
	struct io_uring_sqe *entries;
};

static const char *kind, *way;
static int file, reads;
static volatile int ended;

static void must(int yes, const char *what)
{
	if (!yes) {
		fprintf(stderr, "%s: %s\n", what, strerror(errno));
		exit(errno == ENOSYS || errno == EPERM || errno == EINVAL ? 77 : 1);
	}
}

/* What a thread waits for before it reaps. */
struct told {
	int eventfd, epoll;
};

static struct told make_told(void)
{
	struct told one = { .eventfd = eventfd(0, 0), .epoll = epoll_create1(0) };

	must(one.eventfd >= 0 && one.epoll >= 0, "eventfd");
	return one;
}

static void watch(struct told one, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	must(!epoll_ctl(one.epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

/* Registers the eventfd with a ring, which is watched before or after that. */
static void tell(struct told one, int fd)
{
	if (!strcmp(way, "itself")) {
		watch(one, fd);
		return;
	}
	if (!strcmp(way, "late"))
		watch(one, one.eventfd);
	/* IORING_REGISTER_EVENTFD */
	must(fd < 0 || !syscall(SYS_io_uring_register, fd, 4, &one.eventfd, 1), "io_uring_register");
	if (!strcmp(way, "epoll"))
		watch(one, one.eventfd);
}

static void wait_until_told(struct told one)
{
	struct pollfd polled[2] = { { .fd = -1 }, { .fd = one.eventfd, .events = POLLIN } };
	struct epoll_event event;
	uint64_t times;

	if (!strcmp(way, "poll"))
		while (poll(polled, 2, -1) != 1)
			must(errno == EINTR, "poll");
	else if (strcmp(way, "read"))
		/* The kernel breaks off the sleep of who submitted, to finish the request in that thread. */
		while (epoll_wait(one.epoll, &event, 1, -1) != 1)
			must(errno == EINTR, "epoll_wait");
	if (strcmp(way, "itself"))
		must(read(one.eventfd, &times, sizeof(times)) == sizeof(times), "read");
}

static struct ring make_ring(unsigned flags)
{
	struct io_uring_params p = { .flags = flags, .sq_thread_idle = 20 };
	struct ring r = { .fd = syscall(SYS_io_uring_setup, 8, &p) };
	char *queue, *results;

	must(r.fd >= 0, "io_uring_setup");
	queue = mmap(0, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, r.fd, IORING_OFF_SQ_RING);
	results = mmap(0, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE,
		       MAP_SHARED, r.fd, IORING_OFF_CQ_RING);
	r.entries = mmap(0, p.sq_entries * sizeof(*r.entries), PROT_READ | PROT_WRITE, MAP_SHARED, r.fd, IORING_OFF_SQES);
	must(queue != MAP_FAILED && results != MAP_FAILED && r.entries != MAP_FAILED, "mmap");
	r.tail = (unsigned *)(queue + p.sq_off.tail);
	r.mask = (unsigned *)(queue + p.sq_off.ring_mask);
	r.array = (unsigned *)(queue + p.sq_off.array);
	r.flags = (unsigned *)(queue + p.sq_off.flags);
	r.head = (unsigned *)(results + p.cq_off.head);
	r.done = (unsigned *)(results + p.cq_off.tail);
	return r;
}

static void put(struct ring *r, struct io_uring_sqe entry)
{
	unsigned at = *r->tail & *r->mask;

	r->entries[at] = entry;
	r->array[at] = at;
	__atomic_store_n(r->tail, *r->tail + 1, __ATOMIC_RELEASE);
}

static void take(struct ring *r)
{
	must(*r->head != __atomic_load_n(r->done, __ATOMIC_ACQUIRE), "a result");
	__atomic_store_n(r->head, *r->head + 1, __ATOMIC_RELEASE);
}

static void read_by_ring(void *data)
{
	int polled = !strcmp(kind, "polled"), worker = !strcmp(kind, "worker");
	struct ring r = make_ring(polled ? IORING_SETUP_SQPOLL : 0);
	unsigned flags = IORING_ENTER_GETEVENTS;
	int fd = r.fd;

	if (!strcmp(kind, "registered")) {
		struct io_uring_rsrc_update place = { .offset = -1, .data = fd };

		/* IORING_REGISTER_RING_FDS, and its flag for io_uring_enter: Linux 5.18. */
		must(syscall(SYS_io_uring_register, fd, 20, &place, 1) == 1, "io_uring_register");
		fd = place.offset;
		flags |= 1U << 4;
	}
	struct told told;

	if (way) {
		told = make_told();
		tell(told, r.fd);
	}
	for (int i = 0; i < reads; i++) {
		unsigned wake = 0;

		put(&r, (struct io_uring_sqe){ .opcode = IORING_OP_READ, .fd = file, .addr = (uint64_t)data,
					       .len = PAGE, .off = (uint64_t)i * PAGE, .flags = worker ? IOSQE_ASYNC : 0 });
		if (polled) {
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
			wake = *r.flags & IORING_SQ_NEED_WAKEUP ? IORING_ENTER_SQ_WAKEUP : 0;
		}
		must(syscall(SYS_io_uring_enter, fd, 1, !way, flags | wake, NULL, 0) >= 0, "io_uring_enter");
		if (way)
			wait_until_told(told);
		take(&r);
	}
}

static void read_by_context(void *data)
{
	aio_context_t context = 0;
	struct told told;

	must(!syscall(SYS_io_setup, 8, &context), "io_setup");
	if (way) {
		told = make_told();
		tell(told, -1);
	}
	for (int i = 0; i < reads; i++) {
		struct iocb one = { .aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = file, .aio_buf = (uint64_t)data,
				    .aio_nbytes = PAGE, .aio_offset = (int64_t)i * PAGE, .aio_flags = way ? IOCB_FLAG_RESFD : 0,
				    .aio_resfd = way ? told.eventfd : 0 };
		struct iocb *all[1] = { &one };
		struct io_event done;

		must(syscall(SYS_io_submit, context, 1, all) == 1, "io_submit");
		if (way)
			wait_until_told(told);
		must(syscall(SYS_io_getevents, context, 1, 1, &done, NULL) == 1, "io_getevents");
	}
}

/* Of the idle thread, whose ring nobody uses. */
static struct told idle_told;

static void *idle(void *given)
{
	int libaio = !strcmp(kind, "libaio");
	struct ring *r = given;
	aio_context_t context = 0;

	if (way) {
		wait_until_told(idle_told);
		return NULL;
	}
	if (libaio)
		must(!syscall(SYS_io_setup, 8, &context), "io_setup");
	while (libaio && !ended) {
		struct timespec wait = { .tv_nsec = 50000000 };
		struct io_event done;

		must(syscall(SYS_io_getevents, context, 1, 1, &done, &wait) == 0, "io_getevents");
	}
	if (!libaio)
		must(syscall(SYS_io_uring_enter, r->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) >= 0, "io_uring_enter");
	return NULL;
}

int main(int argc, char **argv)
{
	struct ring unused;
	pthread_t thread;
	void *data;

	must(argc == 4 && !posix_memalign(&data, PAGE, PAGE), "arguments");
	kind = strtok(argv[1], "-");
	way = strtok(NULL, "-");
	file = open(argv[2], O_RDONLY | O_DIRECT);
	reads = atoi(argv[3]);
	must(file >= 0, argv[2]);
	if (strcmp(kind, "libaio"))
		unused = make_ring(0);
	if (way) {
		idle_told = make_told();
		tell(idle_told, strcmp(kind, "libaio") ? unused.fd : -1);
	}
	pthread_create(&thread, NULL, idle, &unused);
	if (strcmp(kind, "libaio"))
		read_by_ring(data);
	else
		read_by_context(data);
	ended = 1;
	if (way)
		must(write(idle_told.eventfd, &(uint64_t){ 1 }, 8) == 8, "write");
	if (strcmp(kind, "libaio")) {
		put(&unused, (struct io_uring_sqe){ .opcode = IORING_OP_NOP });
		must(syscall(SYS_io_uring_enter, unused.fd, 1, 0, 0, NULL, 0) == 1, "io_uring_enter");
	}
	pthread_join(thread, NULL);
	return 0;
}
