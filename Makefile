# SPDX-License-Identifier: BSD-2-Clause
# `make help` lists the targets. Everything that is made goes below $(BUILD).

BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
VERSION := $(shell sed -n 's/.*ALLOCSNOOP_VERSION "\(.*\)".*/\1/p' include/allocsnoop.h)
SOMAJOR := $(firstword $(subst ., ,$(VERSION)))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
ROOT := $(filter 0,$(shell id -u))

# Under sudo the tree stays the invoking user's: run the same goals below, then give back what they made.
ifeq ($(and $(ROOT),$(SUDO_UID),$(if $(OWNED),,1)),1)

GOALS := $(or $(MAKECMDGOALS),all)
.PHONY: $(GOALS)
.NOTPARALLEL:
$(firstword $(GOALS)):
	@trap 'chown -Rh $(SUDO_UID):$(SUDO_GID) $(BUILD) demo.folded 2>/dev/null; :' EXIT; \
	$(MAKE) --no-print-directory OWNED=1 $(GOALS)
$(wordlist 2,99,$(GOALS)): $(firstword $(GOALS)) ; @:

else

CC       := gcc
CXX      := g++
CLANG    ?= clang
BPFTOOL  ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/local/sbin/bpftool) bpftool)
ARCH     := $(subst aarch64,arm64,$(subst x86_64,x86,$(shell uname -m)))

WARN     := -Wall -Wextra -Werror
CPPFLAGS := -D_GNU_SOURCE -Iinclude -Isrc -Ibpf -I$(BUILD)/gen
CFLAGS   ?= -O2 -g
ALL_CFLAGS := -std=gnu11 $(CFLAGS) $(WARN) -fPIC -fvisibility=hidden -pthread -MMD -MP
LIBS     := -lbpf -lelf -ldw -lcapstone -ljansson -lz -pthread -lm
LIBIBERTY := -liberty
CURSES   := -lncursesw -ltinfo
SAN      := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
ifeq ($(SANITIZE),1)
ALL_CFLAGS += $(SAN)
LDFLAGS    += $(SAN)
endif

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(patsubst $(BUILD)/%,%,$(2))')

# ---- sources ----
LIB_SRC  := $(wildcard src/*.c) $(wildcard $(addsuffix /*.c,src/base src/elf src/proc src/unwind src/target src/profile \
	      src/symbol src/trace src/report src/doctor))
CLI_SRC  := $(wildcard src/cli/*.c)
UNIT_SRC := $(wildcard tests/unit/*_test.c tests/bpf/*_test.c)
WORK_SRC := $(wildcard tests/workload/*.c)
WORK_CXX := $(wildcard tests/workload/*.cc)

LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/obj/%.o)
SAN_OBJ  := $(LIB_SRC:%.c=$(BUILD)/san/%.o)
CLI_SAN  := $(patsubst %.c,$(BUILD)/san/%.o,$(filter-out src/cli/main.c src/cli/top.c src/cli/top_screen.c,$(CLI_SRC)))
CLI_OBJ  := $(CLI_SRC:%.c=$(BUILD)/obj/%.o)
BASE_OBJ := $(filter $(BUILD)/obj/src/base/%,$(LIB_OBJ))
UNIT_BIN := $(UNIT_SRC:%.c=$(BUILD)/%)
WORK_BIN := $(WORK_SRC:%.c=$(BUILD)/%) $(WORK_CXX:%.cc=$(BUILD)/%)
SKEL     := $(BUILD)/gen/allocsnoop.skel.h

.PHONY: all check check-vm demo bench fuzz deps deps-check deps-bench install uninstall lint format clean help tests need-root

all: $(BUILD)/allocsnoop $(BUILD)/liballocsnoop.a $(BUILD)/liballocsnoop.so $(BUILD)/allocsnoop.pc $(BUILD)/allocsnoop.1

# ---- BPF ----
$(BUILD)/gen/allocsnoop.bpf.o: bpf/allocsnoop.bpf.c $(wildcard bpf/*.h vmlinux/*.h)
	@mkdir -p $(@D)
	$(call say,CLANG,$@)
	$(Q)$(CLANG) -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) $(WARN) -Wno-unused-parameter -Ivmlinux -Ibpf -idirafter /usr/include/$(shell $(CC) -print-multiarch) -c $< -o $@.tmp
	$(Q)$(BPFTOOL) gen object $@ $@.tmp && rm -f $@.tmp

$(SKEL): $(BUILD)/gen/allocsnoop.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name allocsnoop_bpf > $@.tmp && mv $@.tmp $@

# ---- library and tool ----
$(LIB_OBJ) $(SAN_OBJ) $(CLI_SAN): | $(SKEL)

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c $< -o $@

$(BUILD)/san/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -O1 $(SAN) -c $< -o $@

# One object with everything but the API made local: a static library that exports only the API, too.
$(BUILD)/liballocsnoop.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)ld -r -o $(BUILD)/obj/liballocsnoop.o $(LIB_OBJ)
	$(Q)objcopy --localize-hidden $(BUILD)/obj/liballocsnoop.o
	$(Q)rm -f $@ && ar rcs $@ $(BUILD)/obj/liballocsnoop.o

$(BUILD)/liballocsnoop.so: $(LIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,liballocsnoop.so.$(SOMAJOR) -Wl,--no-undefined -Wl,--exclude-libs,ALL $(LDFLAGS) \
		-o $@.$(VERSION) $(LIB_OBJ) $(LIBIBERTY) $(LIBS)
	$(Q)ln -sf $(@F).$(VERSION) $@.$(SOMAJOR) && ln -sf $(@F).$(SOMAJOR) $@

# The tool sees the library only through its API; base/ it has a copy of.
$(BUILD)/allocsnoop: $(CLI_OBJ) $(BASE_OBJ) $(BUILD)/liballocsnoop.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(CLI_OBJ) $(BASE_OBJ) $(BUILD)/liballocsnoop.a $(LIBIBERTY) $(LIBS) $(CURSES)

$(BUILD)/allocsnoop.pc: Makefile include/allocsnoop.h
	@mkdir -p $(@D)
	$(Q)printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include' '' \
		'Name: allocsnoop' 'Description: who allocates, what and how much, on a live Linux machine' \
		'Version: $(VERSION)' 'Cflags: -I$${includedir}' 'Libs: -L$${libdir} -lallocsnoop' \
		'Libs.private: $(LIBIBERTY) $(LIBS)' > $@

$(BUILD)/mkman: tests/tools/mkman.c $(BUILD)/obj/src/cli/table.o $(BUILD)/obj/src/cli/help.o
	$(call say,LD,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -o $@ $^ $(LDFLAGS)

$(BUILD)/allocsnoop.1: $(BUILD)/mkman
	$(call say,MAN,$@)
	$(Q)$(BUILD)/mkman > $@.tmp && mv $@.tmp $@

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include \
		$(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(BUILD)/allocsnoop $(DESTDIR)$(PREFIX)/bin/
	install -m 644 $(BUILD)/liballocsnoop.a $(DESTDIR)$(PREFIX)/lib/
	install -m 755 $(BUILD)/liballocsnoop.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/
	ln -sf liballocsnoop.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/liballocsnoop.so.$(SOMAJOR)
	ln -sf liballocsnoop.so.$(SOMAJOR) $(DESTDIR)$(PREFIX)/lib/liballocsnoop.so
	install -m 644 include/allocsnoop.h $(DESTDIR)$(PREFIX)/include/
	sed 's|^prefix=.*|prefix=$(PREFIX)|' $(BUILD)/allocsnoop.pc > $(DESTDIR)$(PREFIX)/lib/pkgconfig/allocsnoop.pc
	install -m 644 $(BUILD)/allocsnoop.1 $(DESTDIR)$(PREFIX)/share/man/man1/

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/allocsnoop $(DESTDIR)$(PREFIX)/lib/liballocsnoop.a \
		$(DESTDIR)$(PREFIX)/lib/liballocsnoop.so* $(DESTDIR)$(PREFIX)/include/allocsnoop.h \
		$(DESTDIR)$(PREFIX)/lib/pkgconfig/allocsnoop.pc $(DESTDIR)$(PREFIX)/share/man/man1/allocsnoop.1

# ---- tests ----
# Unit tests run with the sanitizers on, whatever the tool is built with.
$(BUILD)/tests/unit/%_test: tests/unit/%_test.c $(SAN_OBJ)
	@mkdir -p $(@D)
	$(call say,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -O1 $(SAN) -o $@ $< $(filter %.o,$^) $(LIBIBERTY) $(LIBS)

# And the command, without what needs a terminal.
$(BUILD)/tests/unit/top_model_test $(BUILD)/tests/unit/top_view_test: $(CLI_SAN)

$(BUILD)/tests/bpf/%_test: tests/bpf/%_test.c $(SAN_OBJ)
	@mkdir -p $(@D)
	$(call say,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) -Itests/bpf $(ALL_CFLAGS) -O1 $(SAN) -o $@ $< $(SAN_OBJ) $(LIBIBERTY) $(LIBS)

WORK_FLAGS := -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-builtin -pthread -Wall -MMD -MP
$(BUILD)/tests/workload/%: tests/workload/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -std=gnu11 $(WORK_FLAGS) -o $@ $< -ldl
$(BUILD)/tests/workload/%: tests/workload/%.cc
	@mkdir -p $(@D)
	$(call say,CXX,$@)
	$(Q)$(CXX) $(WORK_FLAGS) -o $@ $<

tests: $(UNIT_BIN) $(WORK_BIN)

check: need-root deps-check
	@$(MAKE) --no-print-directory -j$$(nproc) all tests
	@tests/run.sh

check-vm: need-root deps-check
	@$(MAKE) --no-print-directory -j$$(nproc) all tests
	@tests/vm/run.sh

fuzz: need-root deps-check
	@BUILD=$(BUILD) tests/fuzz/run.sh 600

bench: need-root deps-bench
	@$(MAKE) --no-print-directory -j$$(nproc) all tests
	@tests/bench/run.sh

demo: need-root deps
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@tests/tools/demo.sh $(BUILD)

# ---- packages ----
DEPS := gcc g++ make clang llvm bpftool pkg-config libbpf-dev libelf-dev libdw-dev libiberty-dev libcapstone-dev \
	libjansson-dev libncurses-dev zlib1g-dev libc6-dev binutils sqlite3
DEPS_CHECK := $(DEPS) bpftrace jq git perl python3 python3.11 valgrind gdb strace musl-tools libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0 \
	libgc1 go-md2man qemu-system-x86 cpio busybox-static libclang-rt-14-dev locales openssl ruby kmod procps util-linux passwd tmux clang-format cppcheck
DEPS_BENCH := $(DEPS_CHECK) linux-perf

deps: PKGS = $(DEPS)
deps-check: PKGS = $(DEPS_CHECK)
deps-bench: PKGS = $(DEPS_BENCH)
deps deps-check deps-bench: need-root
	@missing=$$(for p in $(PKGS); do dpkg-query -W -f '$${db:Status-Status}\n' $$p 2>/dev/null | grep -qx installed || echo $$p; done); \
	[ -z "$$missing" ] || { echo "  APT    " $$missing; export DEBIAN_FRONTEND=noninteractive; \
	apt-get update -qq >/dev/null && apt-get install -y -qq --no-install-recommends $$missing >/dev/null; }

need-root:
	@[ -n "$(ROOT)" ] || { echo "make $(or $(MAKECMDGOALS),all): installing packages and tracing need root: run it as root or with sudo" >&2; exit 1; }

# ---- the rest ----
FORMATTED = $(wildcard include/*.h bpf/*.[ch] vmlinux/*.h src/*.[ch] src/*/*.[ch] tests/*/*.[ch] tests/*/*.cc \
	      tests/*/*/*.[ch])

lint:
	@clang-format --dry-run -Werror $(FORMATTED)
	@tests/tools/lint.sh

format:
	@clang-format -i $(FORMATTED)

clean:
	rm -rf $(BUILD)

help:
	@printf '%s\n' \
		'make demo     install what is needed (apt), build, trace a real program, write demo.folded (root)' \
		'make check    install what is needed, build, run all tests (root)' \
		'make          build $(BUILD)/allocsnoop and $(BUILD)/liballocsnoop.{a,so}' \
		'make install  PREFIX=/usr/local DESTDIR=   (also: uninstall)' \
		'make bench    what tracing costs, beside other tools, in one run (root)' \
		'make fuzz     ten minutes of hostile unwind sections, then Go tables' \
		'make check-vm the main job under a 6.1 kernel in an emulated machine (root)' \
		'make deps     only install what building needs (root)' \
		'make lint     format, include rules, static checks;  make format  applies the format' \
		'make clean    remove $(BUILD)' \
		'Variables: SANITIZE=1 (with make clean), V=1 (show commands), CFLAGS=, BUILD='

-include $(LIB_OBJ:.o=.d) $(SAN_OBJ:.o=.d) $(CLI_SAN:.o=.d) $(CLI_OBJ:.o=.d) $(UNIT_BIN:%=%.d) $(WORK_BIN:%=%.d)
endif
