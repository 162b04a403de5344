/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Lengths of buffers that user space names in an array. */
#ifndef IOWHY_IOVEC_H
#define IOWHY_IOVEC_H

#include "state.h"

#define IOVEC_MOST 64

struct user_iovec {
	__u64 base;
	__u64 length;
};

/* Bytes of `count` buffers together; -1 where they are too many or cannot be read. */
static __noinline long iovec_bytes(__u64 address, __u64 count)
{
	struct user_iovec v;
	__u64 sum = 0;

	if (count > IOVEC_MOST)
		return -1;
	for (__u32 i = 0; i < IOVEC_MOST; i++) {
		if (i >= count)
			break;
		if (bpf_probe_read_user(&v, sizeof(v), (void *)(address + i * sizeof(v))))
			return -1;
		sum += v.length;
	}
	return sum;
}

#endif
