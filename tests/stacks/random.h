/* What the kernel gives its programs: types, and numbers by chance, the same in each run of a seed. */
#include <stdbool.h>
#include <stdint.h>

typedef uint64_t __u64;
typedef uint32_t __u32;
#undef __always_inline
#define __always_inline inline

static __u64 state;

/* splitmix64 (Steele, Lea, Flood 2014), its upper half */
static __u32 random32(void)
{
	__u64 z = state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (z ^ (z >> 31)) >> 32;
}
