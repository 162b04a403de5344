// Three paths of templates, over standard containers: what each waits in fsync and computes is measured here and printed, as paths.c
// does. paths FILE [UNIT], where UNIT is as there.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <fcntl.h>
#include <unistd.h>

static const int computes[3] = {1, 2, 7};
static long long synced_ns[3], unit_ns;
static volatile long sink;

static long long on_cpu_ns()
{
	timespec at;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
	return at.tv_sec * 1000000000ll + at.tv_nsec;
}

template <typename Number> __attribute__((noinline)) Number compute(Number ns)
{
	Number before = on_cpu_ns();

	while (on_cpu_ns() - before < ns)
		for (long i = 0; i < 200000; i++)
			sink = sink + i * i % 7;
	return sink;
}

template <typename Number, int path>
struct Work {
	int fd;
	__attribute__((noinline)) Number sync_once() const
	{
		if (pwrite(fd, "x", 1, 0) != 1)
			throw path;
		auto before = std::chrono::steady_clock::now();
		if (fsync(fd))
			throw path;
		std::chrono::nanoseconds took = std::chrono::steady_clock::now() - before;
		synced_ns[path] += took.count();
		sink++;
		return took.count();
	}
};

template <typename Number, int path>
__attribute__((noinline)) Number run(int fd, int ms)
{
	Work<Number, path> work{fd};
	Number sum = 0;
	for (int syncs = 0; syncs < 40 || synced_ns[path] < ms * 1000000ll; syncs++)
		sum += work.sync_once();
	return sum + compute<Number>(computes[path] * unit_ns);
}

template <typename Number> __attribute__((noinline)) Number path_of_a(int fd) { return run<Number, 0>(fd, 200) + sink; }
template <typename Number> __attribute__((noinline)) Number path_of_b(int fd) { return run<Number, 1>(fd, 300) + sink; }
template <typename Number> __attribute__((noinline)) Number path_of_c(int fd) { return run<Number, 2>(fd, 500) + sink; }

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	std::map<std::string, std::function<long long(int)>> paths = {
		{"path_of_a", path_of_a<long long>}, {"path_of_b", path_of_b<long long>}, {"path_of_c", path_of_c<long long>}};
	int number = 0;

	unit_ns = argc > 2 ? std::atoll(argv[2]) * 1000000ll : 0;
	for (const auto &path : paths) {
		long long before = on_cpu_ns();

		sink = path.second(fd);
		std::printf("%s %lld %lld\n", path.first.c_str(), synced_ns[number++], on_cpu_ns() - before);
	}
	return 0;
}
