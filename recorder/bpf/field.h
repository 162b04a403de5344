/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Fields of structures whose address alone is known. */
#ifndef IOWHY_FIELD_H
#define IOWHY_FIELD_H

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Any eight bytes of the kernel can be read as one of these: a number, whatever else they are. */
struct timespec64 {
	__s64 tv_sec;
};

#pragma clang attribute pop

/* Since Linux 6.2 the verifier takes a program's word for what lies at an address (kernel/bpf/helpers.c). */
extern void *bpf_rdonly_cast(const void *address, __u32 type) __ksym __weak;

/*
 * A field of a structure: read in place where the kernel can, where it cannot by a helper, which costs as much as some
 * twenty instructions. Either gives 0 for memory that is not there.
 */
#define FIELD(type, address, field)                                                                   \
	(bpf_ksym_exists(bpf_rdonly_cast) ?                                                           \
		 ((type *)bpf_rdonly_cast((void *)(address), bpf_core_type_id_kernel(type)))->field : \
		 BPF_CORE_READ((type *)(address), field))

/*
 * A structure that is only read, of one that the verifier trusts (what a tracepoint gives, the current task). Of each pointer
 * that is loaded from one of those it asks whether that is to be trusted too, and looks for the answer by name in all
 * types of the kernel, up to four times: milliseconds, a quarter of what it took to load the programs.
 */
#define READ_ONLY(type, address)                                                             \
	(bpf_ksym_exists(bpf_rdonly_cast) ?                                                  \
		 (type *)bpf_rdonly_cast((void *)(address), bpf_core_type_id_kernel(type)) : \
		 (address))

#endif
