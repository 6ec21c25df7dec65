/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What file is mapped where: the kernel's inode as a key, and the mappings of the current process.
 */
#ifndef ALLOCSNOOP_FILE_BPF_H
#define ALLOCSNOOP_FILE_BPF_H

static __always_inline __u64 file__mtime(struct inode *inode)
{
	struct inode___sec *sec = (void *)inode;
	struct inode___mtime *mtime = (void *)inode;
	struct inode____mtime *hidden = (void *)inode;

	if (bpf_core_field_exists(sec->i_mtime_sec))
		return BPF_CORE_READ(sec, i_mtime_sec);
	if (bpf_core_field_exists(mtime->i_mtime))
		return BPF_CORE_READ(mtime, i_mtime.tv_sec);
	return BPF_CORE_READ(hidden, __i_mtime.tv_sec);
}

static __always_inline void file__key(struct file *file, struct as_file_key *key)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	key->ino = BPF_CORE_READ(inode, i_ino);
	key->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	key->generation = BPF_CORE_READ(inode, i_generation);
	key->mtime_sec = file__mtime(inode);
}

/* Never 0, which means "no file". */
static __always_inline __u64 file__hash(const struct as_file_key *key)
{
	__u64 h = hash__mix(hash__mix(0, key->ino), key->dev);

	h = hash__mix(h, key->generation);
	return hash__mix(h, key->mtime_sec) | 1;
}

static long mapping__fill(struct task_struct *task, struct vm_area_struct *vma,
			  struct as_mapping *m)
{
	struct as_file_key key;

	m->start = vma->vm_start;
	m->end = vma->vm_end;
	m->bias = (vma->vm_pgoff << 12) - vma->vm_start;
	if (vma->vm_flags & VM_EXEC)
		m->flags = AS_MAPPING_EXEC;
	if (vma->vm_file) {
		file__key(vma->vm_file, &key);
		m->file = file__hash(&key);
	}
	return 0;
}

/* Raised by user space when it has given a file a table, so that no cached mapping stays without
 * it. */
__u64 table_epoch;

/*
 * The sequence count of the current address space's lock: even while nobody changes its mappings. 1
 * (never valid) before 6.13, where there is no such count: then nothing outlives a sample.
 */
static __always_inline __u64 mapping__seq(struct task_struct *task)
{
	struct mm_struct___seq *mm = (void *)task->mm;

	if (!bpf_core_field_exists(mm->mm_lock_seq.sequence))
		return 1;
	return table_epoch << 32 | mm->mm_lock_seq.sequence;
}

/* The entry that holds addr, whether it's of this generation or not; AS_MAPPING_CNT when there is
 * none. */
static __always_inline __u32 mapping__entry(struct as_slot *s, __u64 addr)
{
	__u32 i;

	for (i = 0; i < AS_MAPPING_CNT; i++) {
		if (addr >= s->maps[i].start && addr < s->maps[i].end)
			break;
	}
	return i;
}

/* What user space has made of the mapping's file. */
static __always_inline void mapping__add_file(struct as_mapping *m)
{
	struct as_file *f = bpf_map_lookup_elem(&files, &m->file);

	if (!f)
		return;
	m->table = f->table;
	m->chunk_cnt = f->chunk_cnt;
	m->flags |= f->flags;
}

static __noinline long mapping__ask(__u64 addr, __u64 generation, struct as_mapping *to)
{
	struct as_mapping m = { .generation =
					generation }; /* a callback's argument lies on the stack */
	long err;

	if (!to)
		return -ENOENT;
	err = bpf_find_vma(bpf_get_current_task_btf(), addr, mapping__fill, &m, 0);
	if (!err && m.file)
		mapping__add_file(&m);
	*to = m;
	return err;
}

static __noinline int chunk__remember(__u64 key, const struct as_mapping *m)
{
	struct as_address_chunk chunk = {}, *known = bpf_map_lookup_elem(&address_chunks, &key);

	if (!m)
		return 0;
	if (known)
		chunk = *known;
	chunk.m[chunk.next++ & (AS_CHUNK_MAPS - 1)] = *m;
	return bpf_map_update_elem(&address_chunks, &key, &chunk, BPF_ANY);
}

/* Notes a new executable mapping. */
static __noinline int mapping__remember(__u64 proc, const struct as_mapping *m)
{
	__u64 chunk;

	if (!m)
		return 0;
	chunk = m->start >> AS_CHUNK_SHIFT;
	for (__u32 i = 0; i < AS_CHUNKS_OF_ONE; i++, chunk++) {
		if (chunk << AS_CHUNK_SHIFT >= m->end)
			break;
		chunk__remember(chunk__key(proc, chunk), m);
	}
	return 0;
}

static __noinline long mapping__recall(__u64 proc, __u64 addr, struct as_mapping *m)
{
	__u64 key = chunk__key(proc, addr >> AS_CHUNK_SHIFT);
	struct as_address_chunk *chunk = bpf_map_lookup_elem(&address_chunks, &key);
	const struct as_mapping *known;

	if (!m || !chunk)
		return -EBUSY;
	known = chunk__find(chunk, addr);
	if (!known)
		return -EBUSY;
	*m = *known;
	mapping__add_file(m);
	m->generation = 0;
	m->stale_uses = 1;
	return 0;
}

/*
 * The mapping that holds addr: from the slot's cache or by bpf_find_vma (5.17; 0.1 us). It fails
 * with -EBUSY as soon as a writer so much as waits for the lock, which can last: growing heaps with
 * more threads than CPUs met it at every tenth call. Then the entry of before serves, or what was
 * noted when the mapping was made; should a later look-up show that it was wrong, its uses are
 * counted as a loss. 0, -ENOENT, or -EBUSY when nothing is cached. *out is good until the next
 * look-up.
 */
static __always_inline long mapping__find(struct as_slot *s, __u64 addr, struct as_mapping **out)
{
	struct as_mapping *m = &s->asked, *old;
	__u32 at = mapping__entry(s, addr);
	long err;

	old = &s->maps[at & (AS_MAPPING_CNT - 1)];
	if (at < AS_MAPPING_CNT && old->generation == s->generation) {
		*out = old;
		return 0;
	}
	err = mapping__ask(addr, s->generation, m);
	if (err == -EBUSY && at < AS_MAPPING_CNT) {
		old->stale_uses++;
		s->now.generation = 0; /* the walk isn't to be remembered */
		*out = old;
		return 0;
	}
	if (err == -EBUSY) {
		s->now.generation = 0;
		err = mapping__recall(s->proc, addr, m);
	}
	if (err)
		return err;
	if (at == AS_MAPPING_CNT)
		old = &s->maps[s->next++ & (AS_MAPPING_CNT - 1)];
	else if (old->stale_uses && (old->file != m->file || old->bias != m->bias))
		loss__add(AS_LOSS_STALE_MAPPING, old->stale_uses);
	*old = *m;
	*out = old;
	return 0;
}

/*
 * Takes note of changes: memos and mappings of an earlier generation are no longer sure, and those
 * of another process image are nothing. While the count is odd (somebody is changing mappings),
 * nothing stays sure.
 */
static __always_inline void mapping__renew(struct as_slot *s, struct task_struct *task, __u64 proc)
{
	__u64 seq = mapping__seq(task);

	if (s->proc == proc && s->seq == seq && !(seq & 1))
		return;
	s->generation++;
	s->seq = seq;
	s->trampoline = trampoline__addr(task);
	if (s->proc == proc)
		return;
	s->proc = proc;
	for (int i = 0; i < AS_MAPPING_CNT; i++) {
		s->maps[i].end = 0;
		s->maps[i].stale_uses = 0;
	}
}

#endif
