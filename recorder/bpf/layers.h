/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Devices that lie on others: device-mapper (LVM, dm-crypt, multipath) and md. What such a device is asked for it asks of
 * the devices below by bios of its own, which a worker may make and whose pages may be copies. Each is traced as it is
 * remapped, with the place on the device above that it stands for: what is in flight at that place is what it is of, on
 * every layer.
 */
#ifndef IOWHY_LAYERS_H
#define IOWHY_LAYERS_H

#include "in_flight.h"

/* Some device of the machine lies on others. */
const volatile bool stacked = false;
/* Major number of devices that take requests and lie on others (multipath), or 0. */
const volatile __u32 stacked_major = 0;

/* Ends of bios, of dm-crypt's and of md's (symbols.h finds them; 0: not loaded). */
__u64 chain_end = 0; /* bio_chain_endio */
__u64 crypt_end = 0;
__u64 clone_end = 0; /* of device-mapper's own bios: clone_endio */
__u64 raid5_read_end = 0;
__u64 raid5_write_end = 0;
__u64 md_super_end = 0;

/*
 * Where requests of devices above are in flight, as aligned blocks of 512 << level bytes: any is made of a few of
 * them, and any sector in it is found by asking each level. User space makes room where there are such devices.
 */
#define LEVELS 16
#define PLACE_OF_REQUEST LEVELS /* the level of a request's first sector, which stands for all of it */

struct place {
	__u64 number;
	__u32 dev;
	__u32 level;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct place);
	__type(value, __u64); /* key of `requests` */
} places SEC(".maps");

__u32 levels_used = 0;

/* What a bio, or request, that was remapped is of. Key: its address. */
struct origin {
	__u64 sector; /* where it begins on the device below */
	__u64 ino;
	__u64 page;
	__u32 dev;
	__u32 generation;
	__u32 tgid;
	__u32 tid;
	__u8 owner;
	__u8 scope;
	__u8 op;
	__u8 pad[5];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct origin);
} origins SEC(".maps");

static __always_inline void set_place(__u64 number, __u32 dev, __u32 level, __u64 key, bool begins)
{
	struct place place = { .number = number, .dev = dev, .level = level };
	__u64 *there;

	if (begins) {
		/* Two that set a bit at once may lose one: it is set again with the next request of that size. */
		if (!(levels_used & (1U << level)))
			levels_used |= 1U << level;
		bpf_map_update_elem(&places, &place, &key, BPF_ANY);
		return;
	}
	there = bpf_map_lookup_elem(&places, &place);
	if (there && *there == key)
		bpf_map_delete_elem(&places, &place);
}

/* Notes that a request of a device above begins, or that it is over. */
static __always_inline void set_places(const struct event_request *r, __u64 key, bool begins)
{
	__u64 from = r->sector;
	__u64 to = r->sector + (r->bytes >> 9);
	__u32 dev = r->dev;

	if (r->op != OP_READ && r->op != OP_WRITE)
		return;
	for (__u64 level = 0; level < LEVELS; level++) {
		if (from >= to)
			return;
		if (from & 1)
			set_place(from++, dev, level, key, begins);
		if (from < to && (to & 1))
			set_place(--to, dev, level, key, begins);
		from >>= 1;
		to >>= 1;
	}
}

/* The request in flight at a sector of a device above, or NULL. */
static __always_inline struct event_request *at_place(__u32 dev, __u64 sector)
{
	struct place place = { .dev = dev };
	struct event_request *r;
	__u64 *key;

	for (__u32 level = 0; level <= PLACE_OF_REQUEST; level++) {
		if (!(levels_used & (1U << level)))
			continue;
		place.level = level;
		place.number = level == PLACE_OF_REQUEST ? sector : sector >> level;
		key = bpf_map_lookup_elem(&places, &place);
		if (!key)
			continue;
		r = in_flight(*key);
		if (r && r->dev == dev && sector - r->sector < (r->bytes >> 9))
			return r;
	}
	return NULL;
}

static __always_inline struct origin origin_at(const struct event_request *above, __u64 sector)
{
	struct origin origin = {
		.ino = above->owner_ino,
		.page = above->owner_page,
		.dev = above->owner_dev,
		.generation = above->owner_generation,
		.tgid = above->tgid,
		.tid = above->header.tid,
		.owner = above->owner,
		.scope = above->scope,
		.op = above->op,
	};

	if (origin.page != ~0ULL)
		origin.page += (sector - above->sector) >> (page_shift - 9);
	return origin;
}

/* A bio or request of a device below stands for what is at a place of the device above. */
static __always_inline int remap(__u64 key, __u64 begins, __u32 dev, __u64 sector)
{
	struct event_request *above = at_place(dev, sector);
	struct origin origin;

	if (!above)
		return 0;
	origin = origin_at(above, sector);
	origin.sector = begins;
	bpf_map_update_elem(&origins, &key, &origin, BPF_ANY);
	return 0;
}

/* The place on its own device that a bio asks for, of one whose address alone is known. */
static __always_inline struct event_request *above_of(struct bio *base)
{
	__u64 sector = BPF_CORE_READ(base, bi_iter.bi_sector);
	struct gendisk *disk;

	if (bpf_core_field_exists(base->bi_bdev))
		disk = BPF_CORE_READ(base, bi_bdev, bd_disk);
	else
		disk = BPF_CORE_READ((struct bio___before_5_12 *)base, bi_disk);
	return at_place((__u32)BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor), sector);
}

/*
 * Before 5.18 dm-crypt does not trace what it remaps. The second field of what its bios keep in bi_private is the bio that
 * they are made for (struct dm_crypt_io, drivers/md/dm-crypt.c; a module has no types in 5.10).
 */
static __always_inline struct event_request *above_crypt(struct bio *bio)
{
	struct bio *base = NULL;

	if (!crypt_end || (__u64)BPF_CORE_READ(bio, bi_end_io) != crypt_end)
		return NULL;
	bpf_probe_read_kernel(&base, sizeof(base), BPF_CORE_READ(bio, bi_private) + sizeof(void *));
	return base ? above_of(base) : NULL;
}

/*
 * The same of any target of device-mapper that asks later, from a worker (dm-delay): before 5.18 only what it asks at once
 * is traced. Before its bio stands what it is made for (struct dm_target_io and struct dm_io, drivers/md/dm.c from 5.10 on),
 * which is believed where that is in flight.
 */
static __always_inline struct event_request *above_clone(struct bio *bio)
{
	void *io = NULL;
	__u64 base = 0;

	if (!clone_end || (__u64)BPF_CORE_READ(bio, bi_end_io) != clone_end)
		return NULL;
	bpf_probe_read_kernel(&io, sizeof(io), (void *)bio - 40);
	bpf_probe_read_kernel(&base, sizeof(base), io + 24);
	return base ? in_flight(base) : NULL;
}

static __always_inline void take_origin(struct event_request *r, const struct origin *origin)
{
	r->from_above = 1;
	r->tgid = origin->tgid;
	r->header.tid = origin->tid;
	r->scope = origin->scope;
	/* An array reads what is to be written, to compute parity: that is no data of the file to the program. */
	if (r->op == OP_READ && origin->op == OP_WRITE) {
		r->owner = OWNER_METADATA;
		r->owner_ino = 0;
		r->owner_dev = 0;
		r->owner_generation = 0;
		r->owner_page = ~0ULL;
		return;
	}
	/* What empties the device's cache is that, whosever data goes with it. */
	if (r->owner == OWNER_FLUSH)
		return;
	r->owner = origin->owner;
	r->owner_ino = origin->ino;
	r->owner_dev = origin->dev;
	r->owner_generation = origin->generation;
	/* Of a piece of it that does not begin where it begins, which page is first is not known. */
	r->owner_page = r->sector == origin->sector ? origin->page : ~0ULL;
}

/*
 * What an array keeps for itself: the parity of RAID 5 and 6 and what is read to compute it, and its own description. Bios
 * of data have the same end as those of parity, and an origin, which says more.
 */
static __always_inline bool is_of_array(struct bio *bio)
{
	__u64 end = (__u64)bio->bi_end_io;

	return end && (end == raid5_read_end || end == raid5_write_end || end == md_super_end);
}

/* The bio that this one was split off because it was too large for the device, or itself (block/bio.c, bio_chain). */
static __always_inline struct bio *whole_of(struct bio *bio)
{
	return chain_end && (__u64)bio->bi_end_io == chain_end ? bio->bi_private : bio;
}

/* A request that was made for one of a device above is of what that is of. `key`: its own address, or the bio's. */
static __always_inline void inherit(__u64 key, struct bio *bio, struct event_request *r)
{
	struct event_request *above;
	struct origin *known = NULL;
	struct origin origin;
	__u64 whole;

	r->from_above = 0;
	if (!stacked || !bio)
		return;
	if (r->owner == OWNER_UNKNOWN && is_of_array(bio))
		r->owner = OWNER_METADATA;
	if (stacked_major && key != (__u64)bio)
		known = bpf_map_lookup_elem(&origins, &key);
	if (known) {
		take_origin(r, known);
		bpf_map_delete_elem(&origins, &key);
		return;
	}
	whole = (__u64)whole_of(bio);
	known = bpf_map_lookup_elem(&origins, &whole);
	if (known) {
		take_origin(r, known);
		return;
	}
	above = above_crypt((struct bio *)whole);
	if (!above)
		above = above_clone((struct bio *)whole);
	/* Some hand the bio itself on (raid0 before 6.6, multipath of NVMe). */
	if (!above && key != whole)
		above = in_flight(whole);
	if (!above || above == r || above->dev == r->dev)
		return;
	origin = origin_at(above, above->sector);
	origin.sector = r->sector;
	take_origin(r, &origin);
}

/* Bios of one request that are looked at when it is done; more are seldom joined. */
#define BIOS_OF_REQUEST 128

/* A bio that stands for a request is done. */
static __always_inline void end_bio(__u64 key, struct event_request *r, __u8 status)
{
	if (!r)
		return;
	if (stacked)
		set_places(r, key, false);
	end_in_flight(key, r, bpf_ktime_get_ns(), status);
}

/*
 * A request below is done: the bios that it was made of are free to be others'. The kernel tells of none of them alone
 * (block/blk-mq.c, blk_update_request: "Completion has already been traced").
 */
static __always_inline void end_bios(struct bio *bio, __u8 error)
{
	struct event_request *handed_on;
	__u64 key;

	/* 64 bits, here and in set_places: of 32 on the stack a verifier before 5.16 forgets how many they are. */
	for (__u64 i = 0; i < BIOS_OF_REQUEST && bio; i++) {
		key = (__u64)bio;
		bpf_map_delete_elem(&origins, &key);
		handed_on = in_flight(key);
		if (handed_on && handed_on->issued)
			end_bio(key, handed_on, error);
		bio = BPF_CORE_READ(bio, bi_next);
	}
}

/* A request of a device of `stacked_major` begins, or is over. */
static __always_inline void set_request_place(const struct event_request *r, __u64 key, bool begins)
{
	if (stacked_major && r->dev >> 20 == stacked_major)
		set_place(r->sector, r->dev, PLACE_OF_REQUEST, key, begins);
}

/* The kernel's numbers of devices are those of dev_t (include/linux/kdev_t.h). */
SEC("tp_btf/block_bio_remap")
int BPF_PROG(on_bio_remap, struct bio *bio, __u32 dev, __u64 from)
{
	/* A partition's bio, which stays on its disk. */
	if (READ_ONLY(struct bio, bio)->bi_bdev->bd_dev == dev)
		return 0;
	return remap((__u64)bio, bio->bi_iter.bi_sector, dev, from);
}

/* Its shape before 5.11. */
SEC("tp_btf/block_bio_remap")
int BPF_PROG(on_bio_remap_of, struct request_queue *q, struct bio *bio, __u32 dev, __u64 from)
{
	return remap((__u64)bio, bio->bi_iter.bi_sector, dev, from);
}

SEC("tp_btf/block_rq_remap")
int BPF_PROG(on_rq_remap, struct request *rq, __u32 dev, __u64 from)
{
	return remap((__u64)rq, rq->__sector, dev, from);
}

/* Its shape before 5.11. */
SEC("tp_btf/block_rq_remap")
int BPF_PROG(on_rq_remap_of, struct request_queue *q, struct request *rq, __u32 dev, __u64 from)
{
	return remap((__u64)rq, rq->__sector, dev, from);
}

#endif
