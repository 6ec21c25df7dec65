/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What file is mapped where: the kernel's inode as a key, and the mappings of the current process. */
#ifndef ALLOCSNOOP_FILE_BPF_H
#define ALLOCSNOOP_FILE_BPF_H

static __always_inline __u64 file__ctime(struct inode *inode)
{
	struct inode___sec *sec = (void *)inode;
	struct inode___ctime *ctime = (void *)inode;
	struct inode____ctime *hidden = (void *)inode;

	if (bpf_core_field_exists(sec->i_ctime_sec))
		return BPF_CORE_READ(sec, i_ctime_sec);
	if (bpf_core_field_exists(ctime->i_ctime))
		return BPF_CORE_READ(ctime, i_ctime.tv_sec);
	return BPF_CORE_READ(hidden, __i_ctime.tv_sec);
}

static __always_inline void file__key(struct file *file, struct as_file_key *key)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	key->ino = BPF_CORE_READ(inode, i_ino);
	key->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	key->generation = BPF_CORE_READ(inode, i_generation);
	key->ctime_sec = file__ctime(inode);
}

/* Never 0, which means "no file". */
static __always_inline __u64 file__hash(const struct as_file_key *key)
{
	__u64 h = hash__mix(key->ino, key->dev);

	h = hash__mix(h, key->generation);
	return hash__mix(h, key->ctime_sec) | 1;
}

static long mapping__fill(struct task_struct *task, struct vm_area_struct *vma, struct as_mapping *m)
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

/* Raised by user space when it has given a file a table, so that no cached mapping stays without it. */
__u64 table_epoch;

/*
 * The sequence count of the current address space's lock: even while nobody changes its mappings. 1 (never
 * valid) before 6.13, where there is no such count: then nothing outlives a sample.
 */
static __always_inline __u64 mapping__seq(struct task_struct *task)
{
	struct mm_struct___seq *mm = (void *)task->mm;

	if (!bpf_core_field_exists(mm->mm_lock_seq.sequence))
		return 1;
	return table_epoch << 32 | mm->mm_lock_seq.sequence;
}

static __always_inline bool mapping__cached(struct as_slot *s, __u64 addr, struct as_mapping *out)
{
	for (int i = 0; i < AS_MAPPING_CNT; i++) {
		if (addr >= s->maps[i].start && addr < s->maps[i].end) {
			*out = s->maps[i];
			return true;
		}
	}
	return false;
}

/*
 * The mapping that holds addr: from the slot's cache or by bpf_find_vma (5.17; 0.1 us). 0, -ENOENT, or -EBUSY
 * when the lock is held and nothing is cached.
 */
static __always_inline long mapping__find(struct as_slot *s, __u64 addr, struct as_mapping *out)
{
	struct as_mapping m = {};
	struct as_file *f;
	long err;

	if (mapping__cached(s, addr, out))
		return 0;
	err = bpf_find_vma(bpf_get_current_task_btf(), addr, mapping__fill, &m, 0);
	if (err)
		return err;
	if (m.file) {
		f = bpf_map_lookup_elem(&files, &m.file);
		if (f) {
			m.table = f->table;
			m.chunk_cnt = f->chunk_cnt;
			m.flags |= f->flags;
		}
	}
	s->maps[s->next++ & (AS_MAPPING_CNT - 1)] = m;
	*out = m;
	return 0;
}

/* Makes the slot's cache the current process image's, as its mappings are now. Memos of before are void. */
static __always_inline void mapping__renew(struct as_slot *s, struct task_struct *task, __u64 proc)
{
	__u64 seq = mapping__seq(task);

	if (s->proc == proc && s->seq == seq && !(seq & 1))
		return;
	s->proc = proc;
	s->seq = seq;
	s->generation++;
	for (int i = 0; i < AS_MAPPING_CNT; i++)
		s->maps[i].end = 0;
}

#endif
