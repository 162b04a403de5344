/* Mixes of processes, threads, namespaces, signals, and calls that are refused. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/time.h>

#include "mixes.h"

static char data[PAGE];

static int opened(const char *name)
{
	int fd = CALL(openat, AT_FDCWD, name, O_RDWR | O_CREAT, 0644);

	must(fd >= 0, name);
	return fd;
}

static void waited(pid_t pid)
{
	must(pid > 0, "a process");
	has_process(pid);
	CALL(wait4, pid, NULL, 0, NULL);
}

static void vforked(void)
{
	pid_t pid = vfork();

	if (!pid) {
		MOVE(write, 2, data, 0);
		_exit(0);
	}
	note("vfork", 1, 0, 0);
	waited(pid);
}

static void cloned(void)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	int fd = opened("f");
	pid_t pid = CALL(clone3, &args, sizeof(args));

	if (!pid) {
		/* The parent's note of clone3 is not made twice: this is its copy of the same call. */
		note("clone3", -1, 0, 0);
		MOVE(write, fd, data, 1000);
		_exit(0);
	}
	waited(pid);
	MOVE(pread64, fd, data, PAGE, 0);
	CALL(clone3, &args, 3); /* EINVAL */
}

static void *writes(void *fd)
{
	for (int i = 0; i < 100; i++)
		MOVE(pwrite64, (long)fd, data, 10, i * 10);
	return NULL;
}

static void threads(void)
{
	pthread_t thread[4];
	long fd = opened("f");

	for (int i = 0; i < 4; i++)
		must(!pthread_create(&thread[i], NULL, writes, (void *)fd), "a thread");
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
}

static void on_alarm(int number)
{
	(void)number;
}

/* Breaks off a read of an empty pipe; with SA_RESTART the kernel makes it again, until the writer writes. */
static void broken_off(int flags)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = flags };
	struct itimerval soon = { .it_value = { .tv_usec = 20000 } };
	int ends[2];
	pid_t pid;

	CALL(pipe2, ends, 0);
	sigaction(SIGALRM, &action, NULL);
	pid = fork();
	if (!pid) {
		usleep(80000);
		MOVE(write, ends[1], data, 9);
		_exit(0);
	}
	setitimer(ITIMER_REAL, &soon, NULL);
	MOVE(read, ends[0], data, 100);
	waited(pid);
}

static void interrupted(void)
{
	broken_off(0);
}

static void restarted(void)
{
	broken_off(SA_RESTART);
	note("read", 1, 1, 0); /* the one that was broken off, which the program does not see */
}

static void refused(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 6, code };
	int fd = opened("f");

	CALL(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	CALL(prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
	MOVE(pwrite64, fd, data, 10, 0); /* EPERM */
	MOVE(write, fd, data, 10);
	for (int i = 0; i < 3; i++)
		CALL(getppid); /* ENOSYS */
}

static void narrow(void)
{
#ifdef __x86_64__
	long result;

	for (int i = 0; i < 7; i++) {
		__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "r8", "r9", "r10", "r11", "memory");
		if (result < 0)
			cannot("int 0x80");
		note("syscall32_20", 1, 0, 0);
	}
	noted("syscallx32_39", 0, 0x40000000 | 39); /* ENOSYS but where the kernel has that interface */
#else
	cannot("int 0x80");
#endif
}

static void in_namespace(int flag, const char *name)
{
	pid_t pid;

	if (CALL(unshare, flag))
		cannot(name);
	pid = fork();
	if (!pid) {
		MOVE(write, opened("f"), data, 500);
		_exit(0);
	}
	waited(pid);
}

static void pid_namespace(void)
{
	in_namespace(CLONE_NEWPID, "CLONE_NEWPID");
}

static void user_namespace(void)
{
	in_namespace(CLONE_NEWUSER, "CLONE_NEWUSER");
}

static void time_namespace(void)
{
	int fd;

	if (CALL(unshare, 0x80 /* CLONE_NEWTIME */))
		cannot("CLONE_NEWTIME");
	fd = CALL(openat, AT_FDCWD, "/proc/self/timens_offsets", O_WRONLY);
	MOVE(write, fd, "monotonic 86400 0\n", 18);
	waited(fork() ?: (MOVE(write, opened("f"), data, 300), _exit(0), 0));
}

static void mounts(void)
{
	if (CALL(unshare, CLONE_NEWNS))
		cannot("CLONE_NEWNS");
	CALL(mount, "none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
	CALL(mkdir, "here", 0755);
	CALL(mkdir, "there", 0755);
	if (CALL(mount, "here", "there", NULL, MS_BIND, NULL))
		cannot("mount --bind");
	MOVE(write, opened("there/f"), data, 50);
	MOVE(read, opened("here/f"), data, 70);
}

static void overlay(void)
{
	int fd;

	if (CALL(unshare, CLONE_NEWNS))
		cannot("CLONE_NEWNS");
	CALL(mount, "none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
	CALL(mount, "none", ".", "tmpfs", 0, NULL);
	must(!chdir("../overlay"), "the new mount");
	CALL(mkdir, "low", 0755);
	CALL(mkdir, "up", 0755);
	CALL(mkdir, "work", 0755);
	CALL(mkdir, "top", 0755);
	MOVE(write, opened("low/f"), data, 500);
	if (CALL(mount, "none", "top", "overlay", 0, "lowerdir=low,upperdir=up,workdir=work"))
		cannot("mount an overlay");
	fd = CALL(openat, AT_FDCWD, "top/f", O_RDONLY);
	MOVE(read, fd, data, PAGE);
	fd = opened("top/f");
	MOVE(pwrite64, fd, data, 10, 20);
	MOVE(read, fd, data, PAGE);
}

static void executed(void)
{
	char *words[] = { "true", NULL };
	pid_t pid = fork();

	if (!pid) {
		CALL(execve, "/nothing", words, NULL); /* ENOENT */
		execve("/bin/true", words, NULL);
		_exit(1);
	}
	note("execve", 1, 0, 0);
	waited(pid);
}

static void killed(void)
{
	int ends[2];
	pid_t pid;

	CALL(pipe2, ends, 0);
	pid = fork();
	if (!pid) {
		MOVE(write, ends[1], data, 5);
		MOVE(read, ends[0], data, 5);
		/* It is broken off and ends there: the kernel has a result, ERESTARTSYS, which strace does not see. */
		note("read", 1, 1, 0);
		syscall(SYS_read, ends[0], data, 5);
		_exit(0);
	}
	usleep(60000);
	CALL(kill, pid, SIGKILL);
	waited(pid);
}

const struct mix process_mixes[] = {
	{ "vforked", vforked },	      { "cloned", cloned },	      { "threads", threads },
	{ "interrupted", interrupted }, { "restarted", restarted },   { "refused", refused },
	{ "narrow", narrow },	      { "pid-namespace", pid_namespace }, { "user-namespace", user_namespace },
	{ "time-namespace", time_namespace }, { "mounts", mounts },   { "overlay", overlay },
	{ "executed", executed },     { "killed", killed },	      { 0 },
};
