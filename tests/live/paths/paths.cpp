// Three paths of templates, over standard containers: what each waits in fsync is measured here and printed, as paths.c does.
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <fcntl.h>
#include <unistd.h>

static long long synced_ns[3];
static volatile long sink;

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
	return sum;
}

template <typename Number> __attribute__((noinline)) Number path_of_a(int fd) { return run<Number, 0>(fd, 200) + sink; }
template <typename Number> __attribute__((noinline)) Number path_of_b(int fd) { return run<Number, 1>(fd, 300) + sink; }
template <typename Number> __attribute__((noinline)) Number path_of_c(int fd) { return run<Number, 2>(fd, 500) + sink; }

int main(int, char **argv)
{
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	std::map<std::string, std::function<long long(int)>> paths = {
		{"path_of_a", path_of_a<long long>}, {"path_of_b", path_of_b<long long>}, {"path_of_c", path_of_c<long long>}};
	int number = 0;

	for (const auto &path : paths) {
		sink = path.second(fd);
		std::printf("%s %lld 0\n", path.first.c_str(), synced_ns[number++]);
	}
	return 0;
}
