// SPDX-License-Identifier: Apache-2.0
// Touches pages of a mapped file one by one, each asked for alone: mapped FILE PAGES. The file is closed before.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

int main(int count, char **words)
{
	size_t pages = count > 2 ? strtoul(words[2], NULL, 10) : 1;
	int file = open(words[1], O_RDONLY);
	volatile char *memory = mmap(NULL, pages * PAGE, PROT_READ, MAP_PRIVATE, file, 0);
	int sum = 0;

	if (file < 0 || memory == MAP_FAILED || madvise((void *)memory, pages * PAGE, MADV_RANDOM))
		return 1;
	close(file);
	for (size_t page = 0; page < pages; page++)
		sum += memory[page * PAGE];
	return sum < 0;
}
