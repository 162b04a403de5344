/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* TCP connections that the command asks for. */
#ifndef IOWHY_CONNECTION_H
#define IOWHY_CONNECTION_H

#include <bpf/bpf_endian.h>

#include "state.h"

/* include/net/tcp_states.h, include/linux/socket.h */
#define TCP_SYN_SENT 2
#define AF_INET6 10

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	__u8 in6_u[16];
};

struct sock_common {
	__u32 skc_daddr;
	__u16 skc_dport;
	unsigned short skc_family;
	struct in6_addr skc_v6_daddr;
};

struct sock {
	struct sock_common __sk_common;
};

#pragma clang attribute pop

struct event_connection {
	struct event_header header;
	__u64 ts;
	__u8 address[16]; /* the first four of it, unless is_v6 */
	__u32 tgid;
	__u16 port;
	__u8 is_v6;
	__u8 pad;
};

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_connection, const struct sock *sock, int before, int state)
{
	struct thread *t = state == TCP_SYN_SENT ? current_thread() : NULL;
	struct event_connection *e;

	if (!t)
		return 0;
	e = RESERVE(struct event_connection, EVENT_CONNECTION);
	if (!e)
		return 0;
	e->header.kind = EVENT_CONNECTION;
	e->header.flags = 0;
	e->header.nr = t->call;
	e->header.tid = t->tid;
	e->ts = bpf_ktime_get_ns();
	e->tgid = t->tgid;
	e->port = bpf_ntohs(BPF_CORE_READ(sock, __sk_common.skc_dport));
	e->is_v6 = BPF_CORE_READ(sock, __sk_common.skc_family) == AF_INET6;
	e->pad = 0;
	__builtin_memset(e->address, 0, sizeof(e->address));
	if (!e->is_v6)
		bpf_core_read(e->address, 4, &sock->__sk_common.skc_daddr);
	else if (bpf_core_field_exists(sock->__sk_common.skc_v6_daddr))
		bpf_core_read(e->address, 16, &sock->__sk_common.skc_v6_daddr);
	SUBMIT(e);
	return 0;
}

#endif
