/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows and heaps that user space gives back are used again, and ends of process images are told. */
#include "heap.h"

#include "../unit/check.h"

#define ROWS  8
#define HEAPS 3

/* Room for that many rows and heaps of images. */
static void small__init(void)
{
	scene__init(64);
	as_live_row_max = AS_CLASS_CNT + ROWS;
	as_heap_max = 1 + HEAPS;
}

static void image__set(u32 n)
{
	stage.task.self_exec_id = n;
}

/* One block of a size of its own: a row of its own, in this model (an octave apart). */
static void allocate(u32 octave)
{
	call(MALLOC, 16ull << octave, 0, 0x10000 * (octave + 1));
}

static u32 row__by(u64 proc, u64 cnt)
{
	for (u32 i = AS_CLASS_CNT; i < live_row_cnt && i < as_live_row_max; i++) {
		if (row__at(i)->key.proc == proc && row__at(i)->alloc_cnt == cnt)
			return i;
	}
	return 0;
}

/* As src/trace/giveback.c does. */
static void give_back_row(u32 at)
{
	struct as_live_row *r = row__at(at);
	struct as_tally_key key = r->key;

	CHECK_EQ(bpf_map_delete_elem(&live_row_at, &key), 0);
	memset(r, 0, sizeof(*r));
	CHECK_EQ(bpf_map_push_elem(&free_rows, &at, 0), 0);
}

static void give_back_heap(u32 at)
{
	struct as_heap *h = heap__at(at);
	u64 proc = h->proc;

	CHECK_EQ(bpf_map_delete_elem(&heap_at, &proc), 0);
	memset(h, 0, sizeof(*h));
	CHECK_EQ(bpf_map_push_elem(&free_heaps, &at, 0), 0);
}

static void rows__test(void)
{
	u64 first, lost;
	u32 at;

	small__init();
	image__set(1);
	first = proc__id(&stage.task);
	for (u32 i = 0; i < ROWS; i++)
		allocate(i);
	CHECK_EQ(host__losses(), 0);
	CHECK_EQ(live_row_cnt, as_live_row_max);

	/* All in use: the next one has none of its own. */
	image__set(2);
	allocate(0);
	CHECK_EQ(host__loss(AS_LOSS_ROWS_FULL), 1);
	CHECK_EQ(row__at(as_octave(as_size_class(16)))->alloc_cnt, 1);

	/* One given back is taken, clean, by the other image; none is given twice. */
	at = row__by(first, 1);
	CHECK(at >= AS_CLASS_CNT);
	give_back_row(at);
	allocate(1);
	CHECK_EQ(rows_reused, 1);
	CHECK_EQ(row__at(at)->key.proc, proc__id(&stage.task));
	CHECK_EQ(row__at(at)->alloc_cnt, 1);
	CHECK_EQ(row__at(at)->alloc_bytes, 32);
	CHECK_EQ(heap__at(row__at(at)->heap)->proc, proc__id(&stage.task));
	allocate(1);
	CHECK_EQ(row__at(at)->alloc_cnt, 2);
	lost = host__loss(AS_LOSS_ROWS_FULL);
	allocate(2);
	CHECK_EQ(host__loss(AS_LOSS_ROWS_FULL), lost + 1);
	CHECK_EQ(live_row_cnt, as_live_row_max); /* the count stays at its end */
}

/* The first AS_CLASS_CNT rows are everybody's: never taken for one image. */
static void class_rows__test(void)
{
	u32 zero = 0;

	small__init();
	as_live_row_max = AS_CLASS_CNT;
	image__set(1);
	allocate(0);
	CHECK_EQ(host__loss(AS_LOSS_ROWS_FULL), 1);
	CHECK_EQ(bpf_map_push_elem(&free_rows, &zero, 0), 0); /* never done; no harm if it were */
	allocate(1);
	CHECK_EQ(host__loss(AS_LOSS_ROWS_FULL), 2);
	CHECK_EQ(row__at(0)->alloc_cnt, 0);
}

static void heaps__test(void)
{
	u32 at;

	small__init();
	for (u32 i = 1; i <= HEAPS; i++) {
		image__set(i);
		allocate(0);
	}
	CHECK_EQ(host__losses(), 0);
	image__set(HEAPS + 1);
	allocate(0);
	CHECK_EQ(host__loss(AS_LOSS_HEAPS_FULL), 1);
	CHECK_EQ(heap__at(0)->live_cnt, 1);
	CHECK_EQ(heap__at(0)->proc, 0);

	image__set(1);
	at = *(u32 *)host_map__lookup(host_map__of(&heap_at), &(u64){ proc__id(&stage.task) });
	give_back_row(row__by(proc__id(&stage.task), 1));
	give_back_heap(at);
	image__set(HEAPS + 2);
	allocate(0);
	CHECK_EQ(host__loss(AS_LOSS_HEAPS_FULL), 1);
	CHECK_EQ(heaps_reused, 1);
	CHECK_EQ(heap__at(at)->proc, proc__id(&stage.task));
	CHECK_EQ(heap__at(at)->live_cnt, 1);
	CHECK_EQ(heap__at(at)->peak_bytes, 16);
}

/* Another thread makes the same row, or heap, in the middle: the element isn't lost. */
static void first__row(struct host_map *m, const void *key, const void *value)
{
	u32 other = AS_CLASS_CNT + 5;

	(void)value;
	host_map__insert(m, key, &other);
}

static void first__heap(struct host_map *m, const void *key, const void *value)
{
	u32 other = 2;

	(void)value;
	host_map__insert(m, key, &other);
}

static void race__test(void)
{
	u32 at;

	small__init();
	host_map__of(&live_row_at)->before_update = first__row;
	host_map__of(&heap_at)->before_update = first__heap;
	image__set(1);
	allocate(0);
	CHECK_EQ(row__at(AS_CLASS_CNT + 5)->alloc_cnt, 1);
	CHECK_EQ(rows_reused, (u64)-1); /* one more is free than was given back */
	CHECK_EQ(heaps_reused, (u64)-1);
	CHECK_EQ(bpf_map_pop_elem(&free_rows, &at), 0);
	CHECK_EQ(at, AS_CLASS_CNT);
	CHECK_EQ(row__at(at)->key.proc, 0);
	CHECK_EQ(bpf_map_pop_elem(&free_heaps, &at), 0);
	CHECK_EQ(at, 1);
}

/* ---- ends ---- */

static struct as_over_event *over__event(void)
{
	struct host_record *r = host.ring_cnt ? &host.ring[host.ring_cnt - 1] : NULL;

	return r && *(u32 *)r->data == AS_EVENT_OVER ? r->data : NULL;
}

/* Where threads are told apart each one's end is told, with the name it had last. */
static void thread__test(void)
{
	struct signal_struct signal = { .live = { 5 } };
	const struct as_thread_event *ev;

	small__init();
	stage.task.signal = &signal;
	memcpy(stage.task.comm, "a worker", 9);
	image__set(7);
	as_threads = 1;
	allocsnoop_ended(NULL); /* of a process that nobody knows */
	CHECK_EQ(host.ring_cnt, 0);
	allocate(0);
	host_ring__consume();
	as_threads = 0;
	allocsnoop_ended(NULL);
	CHECK_EQ(host.ring_cnt, 0);
	as_threads = 1;
	allocsnoop_ended(NULL);
	CHECK_EQ(host.ring_cnt, 1);
	ev = host.ring[0].data;
	CHECK_EQ(ev->type, AS_EVENT_THREAD);
	CHECK_EQ(ev->tid, stage.task.pid);
	CHECK_EQ(ev->proc, proc__id(&stage.task));
	CHECK_STR(ev->comm, "a worker");
	host_ring__consume();
	host.ring_full = true;
	allocsnoop_ended(NULL);
	CHECK_EQ(host__loss(AS_LOSS_PROC_RING_FULL), 1);
	host.ring_full = false;
	as_threads = 0;
}

static void over__test(void)
{
	struct signal_struct signal = { .live = { 1 } };
	u64 proc;
	u32 one = 1, tid;

	small__init();
	stage.task.signal = &signal;
	image__set(7);
	proc = proc__id(&stage.task);
	CHECK_EQ(exits, 0);
	allocsnoop_ended(NULL); /* a thread; others live on */
	CHECK_EQ(exits, 1);
	CHECK(!over__event());
	signal.live.counter = 0;
	allocsnoop_ended(NULL); /* of a process that nobody knows */
	CHECK(!over__event());

	allocate(0);
	host_ring__consume();
	host.ring_full = true;
	allocsnoop_ended(NULL);
	CHECK(!over__event());
	CHECK(host_map__lookup(host_map__of(&announced), &proc)); /* for another try */
	host.ring_full = false;
	tid = stage.task.pid;
	bpf_map_update_elem(&stops, &tid, &one, BPF_ANY);
	allocsnoop_ended(NULL);
	CHECK(!host_map__lookup(host_map__of(&stops), &tid));
	CHECK(over__event() && over__event()->proc == proc);
	CHECK_EQ(over__event()->how, AS_OVER_ENDED);
	host_ring__consume();
	allocsnoop_ended(NULL); /* two last threads at once: told once */
	CHECK(!over__event());

	/* execve(2): the image before is over, by the number it had. */
	image__set(8);
	allocate(1);
	proc = proc__id(&stage.task);
	host_ring__consume();
	image__set(9);
	allocsnoop_replaced(NULL);
	CHECK(over__event() && over__event()->proc == proc);
	CHECK_EQ(over__event()->how, AS_OVER_REPLACED);
}

int main(void)
{
	rows__test();
	class_rows__test();
	heaps__test();
	race__test();
	thread__test();
	over__test();
	host__reset();
	return check__done();
}
