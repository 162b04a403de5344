/* Syncs a file with its stack full of a word that nobody else may read. secrets FILE */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define WORD 0x5ec2e75ec2e75ec2

__attribute__((noinline)) static void sync_beside(int fd, volatile uint64_t *words)
{
	if (pwrite(fd, "x", 1, 0) != 1 || fsync(fd) || words[0] != WORD)
		abort();
	words[1] = WORD;
}

int main(int argc, char **argv)
{
	volatile uint64_t words[4096];
	int fd = open(argv[argc - 1], O_RDWR | O_CREAT, 0600);

	for (int i = 0; i < 4096; i++)
		words[i] = WORD;
	for (int syncs = 0; syncs < 100; syncs++)
		sync_beside(fd, words);
	return 0;
}
