/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* From a file descriptor or an address to the inode, and from the inode to its path. */
#ifndef IOWHY_FILE_H
#define IOWHY_FILE_H

#include "state.h"
#include "overlay.h"

#define PATH_PARTS 64
#define PATH_BYTES 4096
#define NAME_BYTES 256

struct path_scratch {
	struct event_file event;
	char names[PATH_BYTES + NAME_BYTES];
	__u32 at; /* bytes of names so far */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct path_scratch);
} path_scratches SEC(".maps");

/* The filesystems of files that the command has had to do with. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, __u8);
} touched_filesystems SEC(".maps");

/* Of an inode that the verifier knows (a tracepoint's), which needs no probing. */
static __always_inline struct file_id identify_known(const struct inode *inode)
{
	struct file_id file = {
		.ino = inode->i_ino,
		.dev = READ_ONLY(struct inode, inode)->i_sb->s_dev,
		.generation = inode->i_generation,
	};

	return file;
}

static __always_inline struct file_id identify(const struct inode *inode)
{
	struct file_id file = {
		.ino = BPF_CORE_READ(inode, i_ino),
		.dev = BPF_CORE_READ(inode, i_sb, s_dev),
		.generation = BPF_CORE_READ(inode, i_generation),
	};

	return file;
}

/* Whether the command has had to do with the file, not with one that had its number before. */
static __always_inline bool is_touched(const struct file_id *file)
{
	struct file_key key = { .ino = file->ino, .dev = file->dev };
	__u64 *generation = bpf_map_lookup_elem(&touched, &key);

	return generation && *generation == file->generation;
}

struct path_walk {
	struct path_scratch *scratch;
	struct dentry *dentry;
	struct mount *mount;
	bool named;
};

/*
 * One step from a name towards the root; 1 ends the walk. How far it is lies in the map: of a number on the stack the
 * verifier would follow every value.
 */
static __noinline long path_step(__u32 step, struct path_walk *w)
{
	struct dentry *dentry = w->dentry;
	struct mount *mount = w->mount;
	struct dentry *parent = BPF_CORE_READ(dentry, d_parent);
	struct dentry *root = BPF_CORE_READ(mount, mnt.mnt_root);
	const unsigned char *name;
	__u32 at = w->scratch->at;
	long n;

	if (dentry == root || dentry == parent) {
		struct mount *above = BPF_CORE_READ(mount, mnt_parent);

		if (dentry == root && above && above != mount) {
			w->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
			w->mount = above;
			return 0;
		}
		w->scratch->event.cut = 0;
		/* The top of a pseudo filesystem (pipe, socket, memory file) carries a name of its own. */
		if (w->named)
			return 1;
	}
	if (at >= PATH_BYTES) {
		w->scratch->event.cut = 1;
		return 1;
	}
	name = BPF_CORE_READ(dentry, d_name.name);
	n = bpf_probe_read_kernel_str(&w->scratch->names[at & (PATH_BYTES - 1)], NAME_BYTES, name);
	if (n <= 0 || n > NAME_BYTES)
		return 1;
	w->scratch->at = at + n;
	w->named = true;
	if (dentry == parent)
		return 1;
	w->dentry = parent;
	return 0;
}

/*
 * Emits a file's path: the names from the inode up to the root of the mount tree. The kernel's own d_path is
 * not open to tracing programs; this walk needs no lock because it reads with probes, and can at worst give a
 * path that is being renamed half old, half new. A function of its own (not static), so that the verifier
 * looks at it once. `of`: the inode whose name it is; `dentry`: the name to take, 0 for the one that the file was opened
 * by.
 */
__noinline int emit_file(__u64 address, __u64 of, __u64 dentry)
{
	__u32 zero = 0;
	struct path_scratch *s = bpf_map_lookup_elem(&path_scratches, &zero);
	struct file *file = (struct file *)address;
	struct inode *inode = (struct inode *)of, *named;
	struct vfsmount *vfsmount = NULL;
	struct dentry *opened;
	struct path_walk w = {};
	struct file_id id;
	__u32 length;

	if (!s)
		return 0;
	id = identify(inode);
	opened = opened_by(file, &vfsmount);
	named = BPF_CORE_READ(opened, d_inode);
	s->event.overlay_ino = 0;
	s->event.overlay_dev = 0;
	if (named && named != inode && is_overlay(named)) {
		s->event.overlay_ino = BPF_CORE_READ(named, i_ino);
		s->event.overlay_dev = BPF_CORE_READ(named, i_sb, s_dev);
	}
	s->event.header.kind = EVENT_FILE;
	s->event.header.flags = 0;
	s->event.header.nr = 0xffff;
	s->event.header.tid = (__u32)current_ids();
	s->event.ino = id.ino;
	s->event.dev = id.dev;
	s->event.generation = id.generation;
	s->event.size = BPF_CORE_READ(inode, i_size);
	s->event.mode = BPF_CORE_READ(inode, i_mode);
	s->event.nlink = BPF_CORE_READ(inode, i_nlink);
	s->event.cut = 1;
	s->at = 0;
	w.scratch = s;
	w.dentry = dentry ? (struct dentry *)dentry : opened;
	w.mount = (void *)vfsmount - bpf_core_field_offset(struct mount, mnt);
	REPEAT(PATH_PARTS, PATH_PARTS, path_step, &w);
	length = s->at;
	if (length > PATH_BYTES)
		length = PATH_BYTES;
	s->event.length = length;
	if (bpf_ringbuf_output(&ring, s, sizeof(s->event) + length, BPF_RB_NO_WAKEUP))
		count_lost(EVENT_FILE);
	return 0;
}

/*
 * Marks the file as touched by the command, and emits its name when that was not done before. `of`: its inode, 0 for
 * that of the file's data.
 */
static __always_inline void name_file(const struct file_id *id, struct file *file, __u64 of)
{
	struct file_key key = { .ino = id->ino, .dev = id->dev };
	__u64 generation = id->generation;
	__u64 *named = bpf_map_lookup_elem(&touched, &key);
	__u32 dev = id->dev;
	__u8 yes = 1;

	if (named && *named == generation)
		return;
	bpf_map_update_elem(&touched, &key, &generation, BPF_ANY);
	bpf_map_update_elem(&touched_filesystems, &dev, &yes, BPF_ANY);
	/* Read anew: to the verifier an address that a program may follow is none that it may hand on. */
	if (!of)
		of = (__u64)data_inode(file, BPF_CORE_READ(file, f_inode));
	emit_file((__u64)file, of, 0);
}

static __always_inline struct file *file_of(struct task_struct *task, __u32 fd)
{
	struct files_struct *opened = OF_CURRENT(READ_ONLY(struct task_struct, task), files);
	struct fdtable *table;
	struct file **files;

	if (!opened)
		return NULL;
	table = OF_CURRENT(opened, fdt);
	if (!table || fd >= OF_CURRENT(table, max_fds))
		return NULL;
	files = OF_CURRENT(table, fd);
	return (struct file *)FIELD(struct timespec64, files + fd, tv_sec);
}

/* The file as in the call before: its filesystem and its name are known. */
static __always_inline bool is_file_of(const struct thread *t, const struct inode *inode)
{
	return t->inode == (__u64)inode && t->file.ino == FIELD(struct inode, inode, i_ino) &&
	       t->file.generation == FIELD(struct inode, inode, i_generation);
}

/* Sets the thread's file; false when there is none. */
static __always_inline bool set_file(struct thread *t, struct file *file)
{
	struct inode *inode;

	if (!file)
		return false;
	inode = FIELD(struct file, file, f_inode);
	if (!inode)
		return false;
	if (!is_file_of(t, inode)) {
		/* Of an overlay's file, which may be copied up at any time, that is asked at each call. */
		inode = data_inode(file, inode);
		if (!is_file_of(t, inode)) {
			t->inode = (__u64)inode;
			t->file = identify(inode);
			name_file(&t->file, file, 0);
		}
	}
	t->call_flags |= CALL_HAS_FILE;
	return true;
}

/* A file was opened to be written: on an overlay the kernel may have copied it up for that, from one that nobody opened. */
static __always_inline void name_copied(struct file *file)
{
	struct inode *inode = file ? FIELD(struct file, file, f_inode) : NULL;
	struct file_id id;

	if (!inode || !is_overlay(inode) || !(BPF_CORE_READ(file, f_flags) & O_ACCMODE) || !upper_inode(inode))
		return;
	inode = copied_from(inode);
	if (!inode)
		return;
	id = identify(inode);
	name_file(&id, file, (__u64)inode);
}

/*
 * The number N of a path /proc/PROCESS/fd/N, else -1: a file that was opened without a name (O_TMPFILE) gets one by it
 * (open(2)). A function of its own (not static), so that the verifier looks at it once.
 */
__noinline int fd_of_path(__u64 address)
{
	char path[32] = {};
	int fd = -1;

	if (bpf_probe_read_user_str(path, sizeof(path), (void *)address) <= 0)
		return -1;
	if (path[0] != '/' || path[1] != 'p' || path[2] != 'r' || path[3] != 'o' || path[4] != 'c')
		return -1;
#pragma unroll
	for (__u32 i = 5; i < sizeof(path) - 1; i++) {
		char c = path[i];

		if (!c)
			break;
		if (c == '/')
			fd = 0;
		else if (fd >= 0 && c >= '0' && c <= '9')
			fd = fd * 10 + (c - '0');
		else
			fd = -1;
	}
	return fd;
}

/* A file has a further name, the first in its inode's list; one of O_TMPFILE had none before (fs/dcache.c, d_tmpfile). */
static __always_inline void name_linked(struct task_struct *task, int fd)
{
	struct file *file = fd >= 0 ? file_of(task, fd) : NULL;
	struct dentry *opened, *dentry;
	struct hlist_node *first;

	if (!file || !bpf_core_field_exists(((struct dentry *)0)->d_u.d_alias))
		return;
	opened = BPF_CORE_READ(file, f_path.dentry);
	first = BPF_CORE_READ(file, f_inode, i_dentry.first);
	dentry = (void *)first - bpf_core_field_offset(struct dentry, d_u.d_alias);
	if (first && dentry != opened)
		emit_file((__u64)file, (__u64)data_inode(file, BPF_CORE_READ(file, f_inode)), (__u64)dentry);
}

/* The program that the task runs, which no call of its own has opened. */
static __always_inline void touch_program(struct task_struct *task)
{
	struct file *file = BPF_CORE_READ(task, mm, exe_file);
	struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : NULL;

	if (inode) {
		struct file_id id;

		inode = data_inode(file, inode);
		id = identify(inode);
		name_file(&id, file, 0);
	}
}

struct address_search {
	struct thread *thread;
	__u64 address;
};

static __noinline long found_area(struct task_struct *task, struct vm_area_struct *area, void *context)
{
	struct address_search *search = context;
	struct thread *t = search->thread;
	struct file *file = BPF_CORE_READ(area, vm_file);

	if (!file || !t)
		return 0;
	if (set_file(t, file)) {
		t->call_offset = search->address - BPF_CORE_READ(area, vm_start) +
				 (BPF_CORE_READ(area, vm_pgoff) << page_shift);
		t->call_flags |= CALL_HAS_OFFSET;
	}
	return 0;
}

/* Levels of the tree of a process's areas, which is at most twice as deep as a balanced one (lib/rbtree.c). */
#define AREA_LEVELS 36

/* Before bpf_find_vma (5.17): the same search, as the kernel's own find_vma made it. */
static __always_inline void search_areas(struct task_struct *task, __u64 address,
					 long (*found)(struct task_struct *, struct vm_area_struct *, void *),
					 void *search)
{
	struct mm_struct___before_6_1 *mm = (void *)BPF_CORE_READ(task, mm);
	struct rb_node *node = BPF_CORE_READ(mm, mm_rb.rb_node);

	for (int level = 0; level < AREA_LEVELS && node; level++) {
		struct vm_area_struct *area =
			(void *)node - bpf_core_field_offset(struct vm_area_struct___before_6_1, vm_rb);

		if (address >= BPF_CORE_READ(area, vm_end)) {
			node = BPF_CORE_READ(node, rb_right);
		} else if (address < BPF_CORE_READ(area, vm_start)) {
			node = BPF_CORE_READ(node, rb_left);
		} else {
			found(task, area, search);
			return;
		}
	}
}

/* The file that is mapped at an address of the current process. */
static __always_inline void find_mapped(struct thread *t, __u64 address)
{
	struct address_search search = { .thread = t, .address = address };

	if (HAS_HELPER(find_vma))
		bpf_find_vma(current_task(), address, found_area, &search, 0);
	else
		search_areas(current_task(), address, found_area, &search);
}

#endif
