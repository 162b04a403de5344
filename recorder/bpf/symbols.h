/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Functions of the kernel, by name and by address. The kernel looks them up in microseconds; its list (/proc/kallsyms)
 * takes a tenth of a second to read. User space runs both programs.
 */
#ifndef IOWHY_SYMBOLS_H
#define IOWHY_SYMBOLS_H

#include "layers.h"

#define SYMBOL_BYTES 128

struct event_symbol {
	__u64 address;
	char name[SYMBOL_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event_symbol);
} symbols SEC(".maps");

/* The name of the function at symbols[0].address; one of a module is followed by " [module]". */
SEC("syscall")
int name_function(void *ctx)
{
	__u32 zero = 0;
	struct event_symbol *symbol = bpf_map_lookup_elem(&symbols, &zero);

	if (!symbol)
		return 1;
	BPF_SNPRINTF(symbol->name, sizeof(symbol->name), "%ps", symbol->address);
	return 0;
}

#define FIND(function, place)                                                      \
	({                                                                         \
		static const char _name[] = function;                              \
		__u64 _address = 0;                                                \
		if (!bpf_kallsyms_lookup_name(_name, sizeof(_name), 0, &_address)) \
			place = _address;                                          \
	})

/* Functions that show what a bio is. */
SEC("syscall")
int find_functions(void *ctx)
{
	FIND("iomap_dio_bio_end_io", iomap_dio_end);
	FIND("xlog_bio_end_io", xfs_log_end);
	FIND("xfs_buf_bio_end_io", xfs_buffer_end);
	FIND("bio_chain_endio", chain_end);
	FIND("crypt_endio", crypt_end);
	FIND("clone_endio", clone_end);
	FIND("raid5_end_read_request", raid5_read_end);
	FIND("raid5_end_write_request", raid5_write_end);
	FIND("super_written", md_super_end);
	return 0;
}

#endif
