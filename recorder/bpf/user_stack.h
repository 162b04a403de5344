/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Whose code it is: the user's stack at the end of a call, in a wait outside calls (stack_points.h), and on a CPU
 * (cpu_clock.h).
 *
 * What is taken are the registers and the top of the stack, as most programs keep no frame pointers; user space finds
 * the callers by the unwind tables of the files that are mapped. They go into a ring of their own, so that they never cost
 * another record.
 */
#ifndef IOWHY_USER_STACK_H
#define IOWHY_USER_STACK_H

#include "entry.h"
#include "thread.h"
#include "points.h"

/* Bytes of the stack that are taken at most, a part of a page at a time, and room for the part in which that ends. */
#define STACK_BYTES (64 * 1024)
#define STACK_PART 4096ULL /* divides a page of every size */
#define STACK_ROOM (STACK_BYTES + STACK_PART)
#define STACK_PARTS (STACK_BYTES / STACK_PART + 1)
/* What lies above a stack's first frame of the main thread: the number of arguments (man 5 elf has the rest). */
#define STACK_ABOVE 8
/* Frames of the kernel's stack that are kept of a sample on a CPU. */
#define KERNEL_FRAMES 48

/* Bits of event_user_stack.header.flags. */
enum sample_flag {
	SAMPLE_OF_CALL = 1,
	SAMPLE_OF_WAIT = 2, /* its weight follows (event_user_wait) */
	SAMPLE_OF_CPU = 4,
	SAMPLE_HAS_FILE = 8,
	SAMPLE_HAS_USER = 16, /* the registers are those of 64-bit code */
};

/* Calls whose stacks are taken apart from each other: what others do often must not hide I/O. */
enum sample_group {
	SAMPLE_IO, /* calls that are recorded one by one */
	SAMPLE_PLAIN, /* all others */
	SAMPLE_GROUPS,
};

struct event_user_stack {
	struct event_header header;
	__u64 ts;
	__u64 weight;
	__u64 dur; /* of the call that was taken, and of it not on a CPU */
	__u64 runnable;
	__u64 blocked;
	__u64 sleeping;
	__s64 ret;
	__u64 ip;
	__u64 sp;
	__u64 fp;
	__u64 lr; /* where the architecture has it */
	__u64 ino;
	__u32 dev;
	__u32 generation;
	__u32 tgid;
	__s32 stack; /* of the kernel, in a wait */
	__u32 frames; /* of the kernel, on a CPU */
	__u32 length; /* bytes of the stack that follow */
	__u64 kernel[KERNEL_FRAMES];
};

struct sample_buffer {
	struct event_user_stack event;
	char bytes[STACK_ROOM];
	__u32 busy;
	__u32 most; /* bytes of the stack that there are, or are taken */
};

/* Two per CPU: the clock interrupts what a call does (src/kernel/stacks.rs sets how many). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct sample_buffer);
} sample_buffers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 * 1024 * 1024);
} stack_ring SEC(".maps");

/*
 * Time of the threads in scope on this CPU for which no stack stands yet. Of the CPU and not of the thread: a thread that ends
 * soon would end unsampled, and its time with it.
 */
struct unsampled {
	struct sample_clock calls[SAMPLE_GROUPS];
	__u64 waits_ns; /* outside calls, that ended */
	__u64 on_cpu_ns; /* of threads that left it */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unsampled);
} unsampled_times SEC(".maps");

/* Of what runs to measure the recorder itself before the recording (src/calibration.rs) no stack is taken. */
bool stacks_begun = false;

/* NULL: none is taken. */
static __always_inline struct unsampled *unsampled_here(void)
{
	__u32 only = 0;

	if (!*(volatile bool *)&stacks_begun)
		return NULL;
	return bpf_map_lookup_elem(&unsampled_times, &only);
}

const volatile bool take_stacks = false;

/* The thread leaves the CPU: what it ran since it was sampled is left to the next stack there. */
static __always_inline void leave_cpu(struct thread *t)
{
	struct unsampled *unsampled = take_stacks ? unsampled_here() : NULL;
	__u64 on_cpu = t->states[ON_CPU_USER] + t->states[ON_CPU_KERNEL];

	if (!unsampled)
		return;
	unsampled->on_cpu_ns += on_cpu - t->sampled_cpu;
	t->sampled_cpu = on_cpu;
}

static __always_inline void read_registers(struct event_user_stack *e, const struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	e->ip = BPF_CORE_READ(regs, ip);
	e->sp = BPF_CORE_READ(regs, sp);
	e->fp = BPF_CORE_READ(regs, bp);
	e->lr = 0;
	/* include: arch/x86/include/asm/segment.h, __USER_CS */
	if ((BPF_CORE_READ(regs, cs) & 0xffff) == 0x33)
		e->header.flags |= SAMPLE_HAS_USER;
#elif defined(__TARGET_ARCH_arm64)
	e->ip = BPF_CORE_READ(regs, pc);
	e->sp = BPF_CORE_READ(regs, sp);
	e->fp = BPF_CORE_READ(regs, regs[29]);
	e->lr = BPF_CORE_READ(regs, regs[30]);
	/* PSR_MODE32_BIT of arch/arm64/include/uapi/asm/ptrace.h */
	if (!(BPF_CORE_READ(regs, pstate) & 0x10))
		e->header.flags |= SAMPLE_HAS_USER;
#endif
}

/* Where the kernel keeps the user's registers of the current thread; NULL: it has none. */
static __always_inline const struct pt_regs *user_registers(struct task_struct *task)
{
	if (!OF_CURRENT(READ_ONLY(struct task_struct, task), mm) ||
	    (OF_CURRENT(task, flags) & (PF_KTHREAD | PF_EXITING)))
		return NULL;
	return entry_registers(task);
}

/* How far it is lies in the buffer: of numbers on the stack the verifier would follow every value that they take. */
struct stack_copy {
	struct sample_buffer *buffer;
};

/* One part of the stack, or the rest of the one that it begins in. What is not in memory ends it. */
static __noinline long copy_part(__u32 i, struct stack_copy *copy)
{
	struct sample_buffer *buffer = copy->buffer;
	__u64 at = buffer->event.length, most = buffer->most, address = buffer->event.sp + at;
	__u64 chunk = STACK_PART - (address & (STACK_PART - 1));

	if (at >= most)
		return 1;
	if (chunk > most - at)
		chunk = most - at;
	/* The compiler knows these bounds; a verifier that does not follow a difference (5.10) must see them, too. */
	barrier_var(at);
	barrier_var(chunk);
	if (at >= STACK_BYTES || chunk > STACK_PART)
		return 1;
	if (bpf_probe_read_user(&buffer->bytes[at], chunk, (void *)address))
		return 1;
	buffer->event.length = at + chunk;
	return 0;
}

static __always_inline void copy_stack(struct sample_buffer *buffer, struct task_struct *task)
{
	struct stack_copy copy = { .buffer = buffer };
	__u64 start = BPF_CORE_READ(task, mm, start_stack) + STACK_ABOVE, sp = buffer->event.sp;

	buffer->most = STACK_BYTES;
	if (sp < start && start - sp < STACK_BYTES)
		buffer->most = start - sp;
	buffer->event.length = 0;
	REPEAT(STACK_PARTS, STACK_PARTS, copy_part, &copy);
}

/* The buffer of this CPU, for one at a time; NULL: it is in use. */
static __always_inline struct sample_buffer *sample_buffer(__u32 of_clock)
{
	__u32 place = bpf_get_smp_processor_id() * 2 + of_clock;
	struct sample_buffer *buffer = bpf_map_lookup_elem(&sample_buffers, &place);

	/* A program that interrupts another one on this CPU finds it busy; none does in between. */
	if (!buffer || buffer->busy)
		return NULL;
	buffer->busy = 1;
	barrier();
	return buffer;
}

static __always_inline void begin_sample(struct event_user_stack *e, const struct thread *t, __u8 flags,
					 __u64 now)
{
	e->header.kind = EVENT_USER_STACK;
	e->header.flags = flags;
	e->header.nr = t->call;
	e->header.tid = t->tid;
	e->ts = now;
	e->tgid = t->tgid;
	e->weight = e->ret = 0;
	e->dur = e->runnable = e->blocked = e->sleeping = 0;
	e->ip = e->sp = e->fp = e->lr = 0;
	e->ino = e->dev = e->generation = 0;
	e->stack = -1;
	e->frames = e->length = 0;
}

static __always_inline void set_sample_file(struct event_user_stack *e, const struct file_id *file)
{
	e->header.flags |= SAMPLE_HAS_FILE;
	e->ino = file->ino;
	e->dev = file->dev;
	e->generation = file->generation;
}

/* The file for which the current thread is in the kernel: its call's, or outside calls the mapped one on whose page it faults. */
static __always_inline void find_sample_file(struct event_user_stack *e, const struct thread *t,
					     struct task_struct *task)
{
	if (t->call >= 0) {
		if (t->call_flags & CALL_HAS_FILE)
			set_sample_file(e, &t->file);
	} else if (t->fault_named == fault_number(task)) {
		set_sample_file(e, &t->fault_file);
	}
}

/* Writes it with its stack; false where the ring has no room. */
static __always_inline bool emit_sample(struct sample_buffer *buffer, struct task_struct *task)
{
	__u64 length;
	long failed;

	if (buffer->event.header.flags & SAMPLE_HAS_USER)
		copy_stack(buffer, task);
	length = buffer->event.length;
	barrier_var(length);
	if (length > STACK_ROOM)
		length = STACK_ROOM;
	failed = bpf_ringbuf_output(&stack_ring, buffer, sizeof(buffer->event) + length, BPF_RB_NO_WAKEUP);
	barrier();
	buffer->busy = 0;
	return !failed;
}

#endif
