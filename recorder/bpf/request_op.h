/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* What a block request does. */
#ifndef IOWHY_REQUEST_OP_H
#define IOWHY_REQUEST_OP_H

#include "older.h"

enum request_op {
	OP_READ,
	OP_WRITE,
	OP_FLUSH,
	OP_DISCARD,
	OP_ZONE,
	OP_OTHER,
};

#define OP_MASK 0xff
#define FLAG(opf, name) (!!((opf) & (1U << bpf_core_enum_value(enum req_flag_bits, name))))

static __always_inline __u8 operation(__u32 opf)
{
	__u32 op = opf & OP_MASK;

	if (op == REQ_OP_READ)
		return OP_READ;
	/* Writing zeroes counts as a write, as in /proc/diskstats. */
	if (op == REQ_OP_WRITE || op == REQUEST_OP(WRITE_ZEROES))
		return OP_WRITE;
	if (op == REQ_OP_FLUSH)
		return OP_FLUSH;
	if (op == REQ_OP_DISCARD)
		return OP_DISCARD;
	if (op == REQUEST_OP(DRV_IN) || op == REQUEST_OP(DRV_OUT) || op == REQUEST_OP(SECURE_ERASE))
		return OP_OTHER;
	return OP_ZONE;
}

#endif
