/* Mixes of calls on files. */
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>

#include "mixes.h"

static char data[64 * PAGE];

static int opened(const char *name, int flags)
{
	int fd = CALL(openat, AT_FDCWD, name, flags | O_CREAT, 0644);

	must(fd >= 0, name);
	return fd;
}

/* A file of `pages` that are on the disk. */
static int filled(const char *name, int pages)
{
	int fd = opened(name, O_RDWR);

	must(MOVE(write, fd, data, pages * PAGE) == pages * PAGE, "write");
	CALL(fsync, fd);
	CALL(lseek, fd, 0, SEEK_SET);
	return fd;
}

static void sparse(void)
{
	int fd = opened("f", O_RDWR);

	MOVE(pwrite64, fd, data, 10, 0);
	MOVE(pwrite64, fd, data, 100, 1 << 24);
	CALL(ftruncate, fd, 1L << 32);
	CALL(lseek, fd, 0, SEEK_HOLE);
	CALL(lseek, fd, 1 << 20, SEEK_DATA);
	CALL(lseek, fd, 1L << 33, SEEK_DATA); /* ENXIO */
	must(MOVE(pread64, fd, data, 5000, 1 << 20) == 5000, "a hole is read");
	must(MOVE(pread64, fd, data, 5000, (1L << 32) - 7) == 7, "its end");
}

static void vectors(void)
{
	struct iovec v[3] = { { data, 100 }, { data, 0 }, { data, 5000 } };
	int fd = opened("f", O_RDWR);

	MOVE(writev, fd, v, 3);
	MOVE(pwritev, fd, v, 3, 10000, 0);
	MOVE(pwritev2, fd, v, 2, -1, -1, 0);
	CALL(lseek, fd, 0, SEEK_SET);
	MOVE(readv, fd, v, 3);
	MOVE(preadv, fd, v, 1, 50, 0);
	MOVE(preadv2, fd, v, 3, -1, -1, 0);
	MOVE(preadv2, fd, v, 3, 0, 0, 0x7fffffff); /* EOPNOTSUPP */
}

static void nowait(void)
{
	struct iovec v = { data, 16 * PAGE };
	int fd = filled("f", 16);

	MOVE(preadv2, fd, &v, 1, 0, 0, RWF_NOWAIT);
	CALL(fadvise64, fd, 0, 0, POSIX_FADV_DONTNEED);
	MOVE(preadv2, fd, &v, 1, 0, 0, RWF_NOWAIT); /* EAGAIN, or a part */
	MOVE(preadv2, fd, &v, 1, 0, 0, 0);
	MOVE(pwritev2, fd, &v, 1, 0, 0, RWF_DSYNC);
	MOVE(pwritev2, fd, &v, 1, 0, 0, RWF_APPEND);
}

static void copies(void)
{
	int from = filled("from", 8), to = opened("to", O_RDWR), ends[2], others[2];
	loff_t at = PAGE;

	MOVE(copy_file_range, from, NULL, to, NULL, 3 * PAGE, 0);
	MOVE(copy_file_range, from, &at, to, NULL, 9 * PAGE, 0);
	at = 0;
	MOVE(sendfile, to, from, &at, 5000);
	MOVE(sendfile, to, from, NULL, 100);
	CALL(pipe2, ends, 0);
	CALL(pipe2, others, 0);
	at = 0;
	must(MOVE(splice, from, &at, ends[1], NULL, 5000, 0) == 5000, "splice into the pipe");
	MOVE(tee, ends[0], others[1], 3000, 0);
	MOVE(splice, ends[0], NULL, to, NULL, 5000, 0);
	MOVE(read, others[0], data, 5000);
	MOVE(splice, from, NULL, to, NULL, 100, 0); /* EINVAL: no pipe */
	struct iovec v = { data, 700 };
	MOVE(vmsplice, ends[1], &v, 1, 0);
	MOVE(read, ends[0], data, 5000);
}

static void reflink(void)
{
	int from = filled("from", 4), to = opened("to", O_RDWR);

	CALL(ioctl, to, FICLONE, from); /* EOPNOTSUPP on ext4 */
}

static void renamed(void)
{
	int first = filled("a", 2), second = filled("b", 1);

	CALL(rename, "b", "a");
	MOVE(write, first, data, 111);
	MOVE(write, second, data, 222);
	CALL(renameat2, AT_FDCWD, "a", AT_FDCWD, "c", RENAME_NOREPLACE);
	CALL(rename, "nothing", "d");
	MOVE(pread64, first, data, 50, 0);
}

static void unlinked(void)
{
	int fd = filled("f", 1);

	CALL(unlink, "f");
	CALL(unlink, "f"); /* ENOENT */
	MOVE(pwrite64, fd, data, 3 * PAGE, 0);
	CALL(fdatasync, fd);
	MOVE(pread64, fd, data, PAGE, PAGE);
}

static void reused(void)
{
	for (int i = 1; i <= 5; i++) {
		int fd = opened(i % 2 ? "odd" : "even", O_RDWR | O_EXCL);

		MOVE(write, fd, data, i * 100);
		CALL(close, fd);
		CALL(unlinkat, AT_FDCWD, i % 2 ? "odd" : "even", 0);
	}
}

static void links(void)
{
	int fd = filled("f", 1);

	CALL(link, "f", "g");
	CALL(linkat, AT_FDCWD, "f", AT_FDCWD, "g", 0); /* EEXIST */
	CALL(symlink, "f", "s");
	CALL(symlinkat, "s", AT_FDCWD, "t");
	CALL(mkdir, "d", 0755);
	CALL(mkdirat, AT_FDCWD, "d/e", 0755);
	CALL(rmdir, "d"); /* ENOTEMPTY */
	CALL(readlinkat, AT_FDCWD, "t", data, 100);
	CALL(truncate, "g", 100);
	MOVE(pread64, fd, data, 500, 0);
}

static void duplicates(void)
{
	int fd = filled("f", 3), two = CALL(dup, fd), three = CALL(dup3, fd, 77, O_CLOEXEC);

	MOVE(read, fd, data, 100);
	MOVE(read, two, data, 100);
	MOVE(write, three, data, 10);
	CALL(close, fd);
	MOVE(read, fd, data, 100); /* EBADF */
	MOVE(read, three, data, 100);
	CALL(fcntl, two, F_DUPFD, 200);
	MOVE(read, 200, data, 100);
}

static void paths(void)
{
	struct open_how how = { .flags = O_RDWR | O_CREAT, .mode = 0600, .resolve = RESOLVE_BENEATH };
	int fd = CALL(openat2, AT_FDCWD, "f", &how, sizeof(how)), place;

	MOVE(write, fd, data, 10);
	CALL(openat2, AT_FDCWD, "/etc/passwd", &how, sizeof(how)); /* EXDEV */
	place = CALL(openat, AT_FDCWD, "f", O_PATH);
	MOVE(read, place, data, 10); /* EBADF */
	CALL(fstat, place, data);
	CALL(openat, AT_FDCWD, "nothing", O_RDONLY); /* ENOENT */
	CALL(openat, AT_FDCWD, "f/g", O_RDONLY); /* ENOTDIR */
	CALL(open, "f", O_RDONLY);
	CALL(creat, "g", 0600);
}

static void nameless(void)
{
	int fd = CALL(openat, AT_FDCWD, ".", O_TMPFILE | O_RDWR, 0600);
	char path[64];

	if (fd < 0)
		cannot("O_TMPFILE");
	MOVE(write, fd, data, 1234);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must(!CALL(linkat, AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW), "linked");
	MOVE(write, fd, data, 66);
	fd = CALL(openat, AT_FDCWD, ".", O_TMPFILE | O_RDWR, 0600);
	MOVE(write, fd, data, 77);
	must(!CALL(linkat, fd, "", AT_FDCWD, "empty", AT_EMPTY_PATH), "linked as root");
	CALL(linkat, fd, "", AT_FDCWD, "named", AT_EMPTY_PATH); /* EEXIST */
	fd = CALL(openat, AT_FDCWD, ".", O_TMPFILE | O_RDWR, 0600);
	MOVE(write, fd, data, 88);
}

static void fallocates(void)
{
	int fd = opened("f", O_RDWR);

	CALL(fallocate, fd, 0, 0, 1 << 20);
	CALL(fallocate, fd, FALLOC_FL_KEEP_SIZE, 1 << 20, 1 << 20);
	CALL(fallocate, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4 * PAGE, 4 * PAGE);
	CALL(fallocate, fd, 0x10 /* zero range */, 0, PAGE);
	CALL(fallocate, fd, 0x08 /* collapse range */, 1, PAGE); /* EINVAL */
	CALL(fallocate, fd, 0x20 /* insert range */, PAGE, PAGE);
	MOVE(pwrite64, fd, data, PAGE, 0);
	CALL(sync_file_range, fd, 0, PAGE, 7);
	CALL(syncfs, fd);
}

static void appended(void)
{
	int one = opened("f", O_WRONLY | O_APPEND), two = opened("f", O_WRONLY | O_APPEND);

	for (int i = 1; i < 50; i++)
		MOVE(write, i % 3 ? one : two, data, i);
	MOVE(pwrite64, one, data, 7, 0); /* appends, too */
}

static void advised(void)
{
	int fd = filled("f", 64);

	CALL(fadvise64, fd, 0, 0, POSIX_FADV_DONTNEED);
	CALL(readahead, fd, 0, 16 * PAGE);
	CALL(fadvise64, fd, 16 * PAGE, 16 * PAGE, POSIX_FADV_WILLNEED);
	for (int i = 0; i < 64; i++)
		MOVE(pread64, fd, data, PAGE, i * PAGE);
}

static void directories(void)
{
	int fd;

	for (int i = 0; i < 20; i++) {
		snprintf(data, 100, "file-%d", i);
		CALL(close, opened(data, O_WRONLY));
	}
	fd = CALL(openat, AT_FDCWD, ".", O_RDONLY | O_DIRECTORY);
	while (CALL(getdents64, fd, data, 300) > 0)
		;
	CALL(setxattr, "file-1", "user.a", "b", 1, 0);
	CALL(fsetxattr, fd, "user.a", "b", 1, 0);
	CALL(fgetxattr, fd, "user.a", data, 10);
	CALL(fgetxattr, fd, "user.none", data, 10); /* ENODATA */
	memset(data, 0, 300);
}

static void procfs(void)
{
	const char *names[] = { "/proc/self/stat", "/proc/meminfo", "/proc/self/maps", "/sys/kernel/mm/transparent_hugepage/enabled" };

	for (int i = 0; i < 4; i++) {
		int fd = CALL(openat, AT_FDCWD, names[i], O_RDONLY);

		while (MOVE(read, fd, data, 500) > 0)
			;
		CALL(close, fd);
	}
	MOVE(write, CALL(openat, AT_FDCWD, "/dev/null", O_WRONLY), data, 12345);
	MOVE(read, CALL(openat, AT_FDCWD, "/dev/zero", O_RDONLY), data, 12345);
}

static void watched(void)
{
	int fan = CALL(fanotify_init, FAN_CLASS_NOTIF | FAN_NONBLOCK, O_RDONLY), in = CALL(inotify_init1, IN_NONBLOCK);

	CALL(inotify_add_watch, in, ".", IN_ALL_EVENTS);
	if (fan >= 0)
		CALL(fanotify_mark, fan, FAN_MARK_ADD, FAN_OPEN | FAN_CLOSE | FAN_EVENT_ON_CHILD, AT_FDCWD, ".");
	CALL(close, filled("f", 1));
	MOVE(read, in, data, sizeof(data));
	MOVE(read, in, data, sizeof(data)); /* EAGAIN */
	MOVE(read, fan, data, sizeof(data));
	memset(data, 0, sizeof(data));
}

static void leased(void)
{
	int fd = filled("f", 1);

	CALL(close, fd);
	fd = CALL(openat, AT_FDCWD, "f", O_RDONLY);
	CALL(fcntl, fd, F_SETLEASE, F_RDLCK);
	CALL(fcntl, fd, F_SETLEASE, F_UNLCK);
	MOVE(read, fd, data, 10);
	CALL(flock, fd, 2);
	CALL(flock, fd, 8);
}

const struct mix file_mixes[] = {
	{ "sparse", sparse },	    { "vectors", vectors },	{ "nowait", nowait },	    { "copies", copies },
	{ "reflink", reflink },	    { "renamed", renamed },	{ "unlinked", unlinked },   { "reused", reused },
	{ "links", links },	    { "duplicates", duplicates }, { "paths", paths },	    { "nameless", nameless },
	{ "fallocates", fallocates }, { "appended", appended },	{ "advised", advised },	    { "directories", directories },
	{ "procfs", procfs },	    { "watched", watched },	{ "leased", leased },	    { 0 },
};
