/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Whose code runs: the stacks of user and kernel at the ticks of the software CPU clock, on the threads in scope. It
 * needs no counters of the hardware, which virtual machines often lack. User space opens it on each CPU.
 */
#ifndef IOWHY_CPU_CLOCK_H
#define IOWHY_CPU_CLOCK_H

#include "thread.h"
#include "user_stack.h"

/* The context of such a program begins with the registers that were interrupted (struct bpf_perf_event_data). */
#if defined(__TARGET_ARCH_x86)
/* arch/x86/include/uapi/asm/ptrace.h, struct pt_regs */
struct clock_context {
	__u64 registers[21];
};
#define CLOCK_IP(ctx) ((ctx)->registers[16])
#define CLOCK_SP(ctx) ((ctx)->registers[19])
#define CLOCK_FP(ctx) ((ctx)->registers[4])
#define CLOCK_LR(ctx) 0
#define CLOCK_IN_USER(ctx) (((ctx)->registers[17] & 3) == 3)
#define CLOCK_IN_64_BITS(ctx) (((ctx)->registers[17] & 0xffff) == 0x33)
#elif defined(__TARGET_ARCH_arm64)
/* arch/arm64/include/uapi/asm/ptrace.h, struct user_pt_regs */
struct clock_context {
	__u64 registers[34];
};
#define CLOCK_IP(ctx) ((ctx)->registers[32])
#define CLOCK_SP(ctx) ((ctx)->registers[31])
#define CLOCK_FP(ctx) ((ctx)->registers[29])
#define CLOCK_LR(ctx) ((ctx)->registers[30])
#define CLOCK_IN_USER(ctx) (!((ctx)->registers[33] & 0xf))
#define CLOCK_IN_64_BITS(ctx) (!((ctx)->registers[33] & 0x10))
#endif

/* The thread's time on a CPU; 0 where the tick came while its clock was being advanced. */
static __always_inline __u64 time_on_cpu(const struct thread *t, __u64 now)
{
	__u64 since = t->since, sum = 0, on_cpu;

	for (int i = 0; i < STATES; i++)
		sum += t->states[i];
	if (sum != since - t->start || now < since || (t->state != ON_CPU_USER && t->state != ON_CPU_KERNEL))
		return 0;
	on_cpu = t->states[ON_CPU_USER] + t->states[ON_CPU_KERNEL];
	return on_cpu + now - since;
}

SEC("perf_event")
int on_cpu_clock(struct clock_context *ctx)
{
	struct task_struct *task = current_task();
	struct thread *t = thread_of(task);
	struct sample_buffer *buffer;
	struct event_user_stack *e;
	const struct pt_regs *regs;
	struct unsampled *unsampled = unsampled_here();
	__u64 now, on_cpu, weight;
	long bytes;

	if (!t || !unsampled)
		return 0;
	now = bpf_ktime_get_ns();
	on_cpu = time_on_cpu(t, now);
	if (on_cpu <= t->sampled_cpu)
		return 0;
	/* Ticks come at any moment alike: what runs stands for all that ran here since the last one. */
	weight = on_cpu - t->sampled_cpu + unsampled->on_cpu_ns;
	buffer = sample_buffer(1);
	if (!buffer)
		return 0;
	e = &buffer->event;
	begin_sample(e, t, SAMPLE_OF_CPU, now);
	e->weight = weight;
	if (CLOCK_IN_USER(ctx)) {
		e->ip = CLOCK_IP(ctx);
		e->sp = CLOCK_SP(ctx);
		e->fp = CLOCK_FP(ctx);
		e->lr = CLOCK_LR(ctx);
		if (CLOCK_IN_64_BITS(ctx))
			e->header.flags |= SAMPLE_HAS_USER;
	} else {
		find_sample_file(e, t, task);
		bytes = bpf_get_stack(ctx, e->kernel, sizeof(e->kernel), 0);
		if (bytes > 0)
			e->frames = bytes / sizeof(__u64);
		regs = user_registers(task);
		if (regs)
			read_registers(e, regs);
	}
	if (emit_sample(buffer, task)) {
		t->sampled_cpu = on_cpu;
		unsampled->on_cpu_ns = 0;
	}
	return 0;
}

#endif
