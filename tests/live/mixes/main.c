/* mixes FOLDER LOG TIMES: runs every mix in a process and a folder of its own, and writes what each did to LOG. */
#include <stdarg.h>

#include "mixes.h"

#define ENTRIES 4096

struct entry {
	char mix[24], name[24];
	long calls, errors, bytes;
};

static struct log {
	int entries, processes, locked;
	struct entry entry[ENTRIES];
	struct {
		char mix[24], why[64];
		int pid;
	} process[ENTRIES];
} *log_;
static const char *mix_name = "";

void note(const char *name, long calls, long errors, long bytes)
{
	struct entry *e = log_->entry;

	/* A mix's processes and threads come at once. */
	while (__atomic_exchange_n(&log_->locked, 1, __ATOMIC_ACQUIRE))
		;
	while (e < log_->entry + log_->entries && (strcmp(e->mix, mix_name) || strcmp(e->name, name)))
		e++;
	if (e == log_->entry + log_->entries) {
		snprintf(e->mix, sizeof(e->mix), "%s", mix_name);
		snprintf(e->name, sizeof(e->name), "%s", name);
		log_->entries++;
	}
	e->calls += calls;
	e->errors += errors;
	e->bytes += bytes;
	__atomic_store_n(&log_->locked, 0, __ATOMIC_RELEASE);
}

long noted(const char *name, int moves, long number, ...)
{
	long a[6], result;
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	result = syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	note(name, 1, result == -1, moves && result > 0 ? result : 0);
	return result;
}

static void add_process(pid_t pid, const char *why)
{
	int at = log_->processes++;

	snprintf(log_->process[at].mix, 24, "%s", mix_name);
	snprintf(log_->process[at].why, 64, "%s", why);
	log_->process[at].pid = pid;
}

void has_process(pid_t pid)
{
	add_process(pid, "");
}

void cannot(const char *why)
{
	char text[64];

	snprintf(text, sizeof(text), "cannot %s: %s", why, strerror(errno));
	add_process(0, text);
	_exit(0);
}

void must(int holds, const char *what)
{
	char text[64];

	if (holds)
		return;
	snprintf(text, sizeof(text), "not so: %s: %s", what, strerror(errno));
	add_process(0, text);
	_exit(1);
}

static void run_all(const struct mix *mixes)
{
	for (; mixes->name; mixes++) {
		pid_t pid;

		mix_name = mixes->name;
		mkdir(mix_name, 0755);
		pid = fork();
		if (!pid) {
			if (chdir(mix_name))
				_exit(1);
			mixes->run();
			_exit(0);
		}
		add_process(pid, "");
		waitpid(pid, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	FILE *out;

	if (argc != 4 || chdir(argv[1]))
		return 2;
	log_ = mmap(NULL, sizeof(*log_), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (log_ == MAP_FAILED)
		return 2;
	memset(log_, 0, sizeof(*log_));
	for (int time = atoi(argv[3]); time > 0; time--) {
		char name[16];

		snprintf(name, sizeof(name), "%d", time);
		if (mkdir(name, 0755) || chdir(name))
			return 2;
		run_all(file_mixes);
		run_all(memory_mixes);
		run_all(process_mixes);
		if (chdir(".."))
			return 2;
	}
	out = fopen(argv[2], "w");
	if (!out)
		return 2;
	for (struct entry *e = log_->entry; e < log_->entry + log_->entries; e++)
		fprintf(out, "call\t%s\t%s\t%ld\t%ld\t%ld\n", e->mix, e->name, e->calls, e->errors, e->bytes);
	for (int i = 0; i < log_->processes; i++)
		fprintf(out, "process\t%s\t%d\t%s\n", log_->process[i].mix, log_->process[i].pid,
			log_->process[i].why);
	return fclose(out) ? 2 : 0;
}
