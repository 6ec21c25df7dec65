/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mangled names back to source names, by libiberty (as c++filt does it). A mangled name is hostile
 * input, and a short one can stand for an endless one: substitutions double what they repeat. So
 * the size of a C++ name's tree is counted before it is printed, the text is taken piece by piece,
 * and past a limit it is abandoned; the name then stays as it is in the symbol table.
 */
#include <libiberty/demangle.h>
#undef ARRAY_SIZE /* libiberty has one, too */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/str.h"
#include "symbol/resolve.h"

#define MANGLED_MAX   65535u
#define DEMANGLED_MAX (64u * 1024)

/*
 * The C++ parser recurses for each character of "PPPP..."; within this it needs less than 1 MiB of
 * stack. (c++filt stops at 1024: its limit is 2048 components, two for each character.)
 */
#define CXX_MAX 4096u

/*
 * Nodes of a C++ name with its substitutions written out. Printing a pack expansion searches all of
 * them before the first character appears: with 2^40 that is for ever.
 */
#define NODES_MAX (64u * 1024)

#define OPTIONS (DMGL_PARAMS | DMGL_ANSI)

struct output {
	struct str text;
	jmp_buf too_long;
};

/*
 * Leaves by longjmp: there is no other way to stop libiberty. Its state is on the stack, but for
 * the buffer of a punycode identifier (Rust v0), which is lost in this case.
 */
static void take_piece(const char *piece, size_t len, void *arg)
{
	struct output *out = arg;

	if (len > DEMANGLED_MAX - out->text.len)
		longjmp(out->too_long, 1);
	str__addn(&out->text, piece, len);
	if (out->text.oom)
		longjmp(out->too_long, 1);
}

/* Whether a node has two subtrees (or one and NULL) that can repeat others. */
static bool is_pair(enum demangle_component_type type)
{
	switch (type) {
	case DEMANGLE_COMPONENT_QUAL_NAME:
	case DEMANGLE_COMPONENT_LOCAL_NAME:
	case DEMANGLE_COMPONENT_TYPED_NAME:
	case DEMANGLE_COMPONENT_TEMPLATE:
	case DEMANGLE_COMPONENT_RESTRICT:
	case DEMANGLE_COMPONENT_VOLATILE:
	case DEMANGLE_COMPONENT_CONST:
	case DEMANGLE_COMPONENT_RESTRICT_THIS:
	case DEMANGLE_COMPONENT_VOLATILE_THIS:
	case DEMANGLE_COMPONENT_CONST_THIS:
	case DEMANGLE_COMPONENT_REFERENCE_THIS:
	case DEMANGLE_COMPONENT_RVALUE_REFERENCE_THIS:
	case DEMANGLE_COMPONENT_TRANSACTION_SAFE:
	case DEMANGLE_COMPONENT_NOEXCEPT:
	case DEMANGLE_COMPONENT_THROW_SPEC:
	case DEMANGLE_COMPONENT_VENDOR_TYPE_QUAL:
	case DEMANGLE_COMPONENT_VENDOR_TYPE:
	case DEMANGLE_COMPONENT_POINTER:
	case DEMANGLE_COMPONENT_REFERENCE:
	case DEMANGLE_COMPONENT_RVALUE_REFERENCE:
	case DEMANGLE_COMPONENT_COMPLEX:
	case DEMANGLE_COMPONENT_IMAGINARY:
	case DEMANGLE_COMPONENT_FUNCTION_TYPE:
	case DEMANGLE_COMPONENT_ARRAY_TYPE:
	case DEMANGLE_COMPONENT_PTRMEM_TYPE:
	case DEMANGLE_COMPONENT_VECTOR_TYPE:
	case DEMANGLE_COMPONENT_ARGLIST:
	case DEMANGLE_COMPONENT_TEMPLATE_ARGLIST:
	case DEMANGLE_COMPONENT_INITIALIZER_LIST:
	case DEMANGLE_COMPONENT_CAST:
	case DEMANGLE_COMPONENT_CONVERSION:
	case DEMANGLE_COMPONENT_NULLARY:
	case DEMANGLE_COMPONENT_UNARY:
	case DEMANGLE_COMPONENT_BINARY:
	case DEMANGLE_COMPONENT_BINARY_ARGS:
	case DEMANGLE_COMPONENT_TRINARY:
	case DEMANGLE_COMPONENT_TRINARY_ARG1:
	case DEMANGLE_COMPONENT_TRINARY_ARG2:
	case DEMANGLE_COMPONENT_LITERAL:
	case DEMANGLE_COMPONENT_LITERAL_NEG:
	case DEMANGLE_COMPONENT_DECLTYPE:
	case DEMANGLE_COMPONENT_PACK_EXPANSION:
	case DEMANGLE_COMPONENT_TAGGED_NAME:
	case DEMANGLE_COMPONENT_CLONE:
		return true;
	default:
		return false;
	}
}

/*
 * Nodes of the tree below dc, substitutions written out, up to NODES_MAX + 1. Each node is counted
 * once and remembered. The depth is that of the parser before.
 */
static u64 count_nodes(struct map *counts, const struct demangle_component *dc)
{
	u64 cnt = 1;

	if (!dc)
		return 0;
	/* libiberty takes this one's flags for a subtree; no compiler for our machines makes it. */
	if (dc->type == DEMANGLE_COMPONENT_FIXED_TYPE)
		return NODES_MAX + 1;
	if (!is_pair(dc->type) || map__get(counts, (uintptr_t)dc, &cnt))
		return cnt;
	/* should the tree be a loop, this is what is found when it closes */
	if (map__put(counts, (uintptr_t)dc, NODES_MAX + 1))
		return NODES_MAX + 1;
	cnt += count_nodes(counts, dc->u.s_binary.left);
	cnt += count_nodes(counts, dc->u.s_binary.right);
	cnt = MIN(cnt, NODES_MAX + 1);
	if (map__put(counts, (uintptr_t)dc, cnt))
		return NODES_MAX + 1;
	return cnt;
}

/* False: not mangled after all, or too long. */
static bool demangle_cxx(struct output *out, const char *raw)
{
	struct map counts = { 0 };
	struct demangle_component *tree;
	void *mem = NULL;
	volatile bool ok = false;

	if (strlen(raw) > CXX_MAX)
		return false;
	tree = cplus_demangle_v3_components(raw, OPTIONS, &mem);
	if (tree && count_nodes(&counts, tree) <= NODES_MAX && !setjmp(out->too_long))
		ok = cplus_demangle_print_callback(OPTIONS, tree, take_piece, out);
	map__free(&counts);
	if (tree)
		free(mem);
	return ok;
}

static bool demangle_rust(struct output *out, const char *raw)
{
	if (setjmp(out->too_long))
		return false;
	return rust_demangle_callback(raw, OPTIONS, take_piece, out);
}

/* Rust first: its legacy names look like C++. */
static bool demangle(struct output *out, const char *raw)
{
	if (demangle_rust(out, raw))
		return true;
	str__clear(&out->text);
	return !strncmp(raw, "_Z", 2) && demangle_cxx(out, raw);
}

const char *symbol__demangle(struct arena *a, const char *raw)
{
	size_t len = strnlen(raw, MANGLED_MAX + 1);
	/* Only what a compiler mangles: an everyday C name must not be taken for a C++ one. */
	bool mangled = len <= MANGLED_MAX && (!strncmp(raw, "_Z", 2) || !strncmp(raw, "_R", 2));
	struct output out = { .text = { 0 } };
	struct str clean = { 0 };
	const char *copy = NULL;

	if (mangled && demangle(&out, raw) && out.text.len)
		str__add_utf8(&clean, out.text.s, out.text.len, true);
	else
		str__add_utf8(&clean, raw, strlen(raw), true);
	if (!clean.oom)
		copy = arena__strndup(a, clean.s, clean.len);
	str__free(&out.text);
	str__free(&clean);
	return copy;
}
