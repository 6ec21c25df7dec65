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
LIBS     := -lbpf -lelf -ldw -lcapstone -ljansson -lprotobuf-c -lz -pthread -lm
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
	      src/symbol src/dwarf src/trace src/report src/pprof src/doctor))
CLI_SRC  := $(wildcard src/cli/*.c)
UNIT_SRC := $(wildcard tests/unit/*_test.c tests/bpf/*_test.c)
WORK_SRC := $(wildcard tests/workload/*.c)
WORK_CXX := $(wildcard tests/workload/*.cc)

PROTO    := $(BUILD)/gen/profile.pb-c.c
LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/obj/%.o) $(BUILD)/obj/profile.pb-c.o
SAN_OBJ  := $(LIB_SRC:%.c=$(BUILD)/san/%.o) $(BUILD)/san/profile.pb-c.o
CLI_SAN  := $(patsubst %.c,$(BUILD)/san/%.o,$(filter-out src/cli/main.c src/cli/top.c src/cli/top_screen.c,$(CLI_SRC)))
CLI_OBJ  := $(CLI_SRC:%.c=$(BUILD)/obj/%.o)
BASE_OBJ := $(filter $(BUILD)/obj/src/base/%,$(LIB_OBJ))
UNIT_BIN := $(UNIT_SRC:%.c=$(BUILD)/%)
WORK_BIN := $(WORK_SRC:%.c=$(BUILD)/%) $(WORK_CXX:%.cc=$(BUILD)/%)
SKEL     := $(BUILD)/gen/allocsnoop.skel.h
COMPLETIONS := $(addprefix $(BUILD)/allocsnoop.,bash zsh fish)

.PHONY: all check check-vm demo bench fuzz deps deps-html deps-check deps-bench install uninstall lint format clean help tests need-root

all: $(BUILD)/allocsnoop $(BUILD)/liballocsnoop.a $(BUILD)/liballocsnoop.so $(BUILD)/allocsnoop.pc $(BUILD)/allocsnoop.1 $(COMPLETIONS)

# ---- BPF ----
$(BUILD)/gen/allocsnoop.bpf.o: bpf/allocsnoop.bpf.c $(wildcard bpf/*.h vmlinux/*.h)
	@mkdir -p $(@D)
	$(call say,CLANG,$@)
	$(Q)$(CLANG) -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) $(WARN) -Wno-unused-parameter -Ivmlinux -Ibpf -idirafter /usr/include/$(shell $(CC) -print-multiarch) -c $< -o $@.tmp
	$(Q)$(BPFTOOL) gen object $@ $@.tmp && rm -f $@.tmp

$(SKEL): $(BUILD)/gen/allocsnoop.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name allocsnoop_bpf > $@.tmp && mv $@.tmp $@

# ---- pprof's messages ----
$(PROTO): src/pprof/profile.proto
	@mkdir -p $(@D)
	$(call say,PROTO,$@)
	$(Q)protoc-c --c_out=$(@D) --proto_path=$(<D) $<

$(BUILD)/obj/%.pb-c.o: $(BUILD)/gen/%.pb-c.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c $< -o $@

$(BUILD)/san/%.pb-c.o: $(BUILD)/gen/%.pb-c.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -O1 $(SAN) -c $< -o $@
# ---- the page of -f html ----
# npm's packages stay below $(BUILD); once they are there, the network isn't needed again. Without npm, or with
# NO_HTML=1, the page is empty and -f html says so; `make html` tries again.
NPM       := $(if $(NO_HTML),,$(shell command -v npm))
HTML_SRC  := $(wildcard src/report/html/*)
HTML_DIR  := $(BUILD)/html
HTML_PAGE := $(BUILD)/gen/html_page.inc
NPM_CI    := npm ci --ignore-scripts --no-audit --no-fund --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000
npm_ci     = cp $(1)/package.json $(1)/package-lock.json $(2)/ && (cd $(2) && $(NPM_CI) >npm.log 2>&1)

.PHONY: html FORCE
html:
	@rm -f $(HTML_DIR)/with
	@$(MAKE) --no-print-directory all

$(HTML_DIR)/with: FORCE
	@mkdir -p $(@D)
	@echo '$(NPM)' | cmp -s - $@ || echo '$(NPM)' > $@

# C takes the bytes as numbers.
$(HTML_PAGE): $(HTML_SRC) $(HTML_DIR)/with
	@mkdir -p $(@D)
	$(call say,HTML,$@)
	$(Q)rm -f $(HTML_DIR)/page.html
	$(Q)[ -z "$(NPM)" ] || { cmp -s src/report/html/package-lock.json $(HTML_DIR)/package-lock.json && [ -e $(HTML_DIR)/installed ]; } || \
		{ rm -f $(HTML_DIR)/installed; $(call npm_ci,src/report/html,$(HTML_DIR)) && touch $(HTML_DIR)/installed; } || \
		echo "note: npm ci failed ($(HTML_DIR)/npm.log): this build has no -f html; 'make html' tries again"
	$(Q)if [ -z "$(NPM)" ]; then \
		echo "note: no npm$(if $(NO_HTML), wanted (NO_HTML)): this build has no -f html"; \
	elif [ -e $(HTML_DIR)/installed ]; then \
		node src/report/html/build.js $(HTML_DIR)/node_modules $(HTML_DIR)/page.html || \
			echo "note: node can't make the page: this build has no -f html"; \
	fi
	$(Q)if [ -e $(HTML_DIR)/page.html ]; then od -An -v -tu1 $(HTML_DIR)/page.html | sed 's/ *\([0-9][0-9]*\)/\1,/g'; fi > $@.tmp && mv $@.tmp $@

$(BUILD)/obj/src/report/html.o $(BUILD)/san/src/report/html.o: $(HTML_PAGE)

# ---- library and tool ----
$(LIB_OBJ) $(SAN_OBJ) $(CLI_SAN): | $(SKEL) $(PROTO)

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

# Where the shells look by themselves.
BASH_COMPLETION := share/bash-completion/completions/allocsnoop
ZSH_COMPLETION  := share/zsh/site-functions/_allocsnoop
FISH_COMPLETION := share/fish/vendor_completions.d/allocsnoop.fish

# It asks the library for the presets of --probe.
$(BUILD)/mkcomp: $(addprefix tests/tools/,mkcomp.c comp_bash.c comp_zsh.c comp_fish.c mkcomp.h) $(BUILD)/obj/src/cli/table.o $(BUILD)/liballocsnoop.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -o $@ $(filter-out %.h,$^) $(LDFLAGS) $(LIBIBERTY) $(LIBS)

$(COMPLETIONS): $(BUILD)/allocsnoop.%: $(BUILD)/mkcomp
	$(call say,COMP,$@)
	$(Q)$(BUILD)/mkcomp $* > $@.tmp && mv $@.tmp $@

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
	install -D -m 644 $(BUILD)/allocsnoop.bash $(DESTDIR)$(PREFIX)/$(BASH_COMPLETION)
	install -D -m 644 $(BUILD)/allocsnoop.zsh $(DESTDIR)$(PREFIX)/$(ZSH_COMPLETION)
	install -D -m 644 $(BUILD)/allocsnoop.fish $(DESTDIR)$(PREFIX)/$(FISH_COMPLETION)

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/allocsnoop $(DESTDIR)$(PREFIX)/lib/liballocsnoop.a \
		$(DESTDIR)$(PREFIX)/lib/liballocsnoop.so* $(DESTDIR)$(PREFIX)/include/allocsnoop.h \
		$(DESTDIR)$(PREFIX)/lib/pkgconfig/allocsnoop.pc $(DESTDIR)$(PREFIX)/share/man/man1/allocsnoop.1 \
		$(addprefix $(DESTDIR)$(PREFIX)/,$(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION))

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

# Makes and reads saved profiles; sees more of the library than its API.
$(BUILD)/tests/tools/profiles: tests/tools/profiles.c $(LIB_OBJ)
	@mkdir -p $(@D)
	$(call say,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -o $@ $< $(LIB_OBJ) $(LDFLAGS) $(LIBIBERTY) $(LIBS)

# What opens pages in a browser and reads formats, fetched once; tests that want it are skipped without.
# `make browser-tests` tries again.
BROWSER := $(BUILD)/tests/browser
$(BROWSER)/tried: tests/browser/package.json tests/browser/package-lock.json
	@mkdir -p $(@D)
	$(call say,NPM,$(@D))
	$(Q)rm -rf $(@D)/node_modules && touch $@
	$(Q)[ -z "$(NPM)" ] || { $(call npm_ci,tests/browser,$(@D)); } || echo "note: npm ci failed ($(@D)/npm.log): pages aren't tested"

.PHONY: browser-tests
browser-tests:
	@rm -f $(BROWSER)/tried
	@$(MAKE) --no-print-directory $(BROWSER)/tried

tests: $(UNIT_BIN) $(WORK_BIN) $(BUILD)/tests/tools/profiles $(BROWSER)/tried

check: need-root deps-check
	@$(MAKE) --no-print-directory -j$$(nproc) all tests
	@tests/run.sh

check-vm: need-root deps-check
	@$(MAKE) --no-print-directory -j$$(nproc) all tests
	@tests/vm/run.sh

fuzz: need-root deps-check
	@$(MAKE) --no-print-directory $(BUILD)/tests/tools/profiles
	@BUILD=$(BUILD) tests/fuzz/run.sh 600

bench: need-root deps-bench
	@$(MAKE) --no-print-directory -j$$(nproc) all tests
	@tests/bench/run.sh

demo: need-root deps
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@tests/tools/demo.sh $(BUILD)

# ---- packages ----
DEPS := gcc g++ make clang llvm bpftool pkg-config libbpf-dev libelf-dev libdw-dev libiberty-dev libcapstone-dev \
	libjansson-dev libprotobuf-c-dev protobuf-c-compiler libncurses-dev zlib1g-dev libc6-dev binutils sqlite3
# Debian's npm is 360 packages; one from elsewhere is as good, and can't stand beside it.
DEPS_HTML := $(DEPS) $(if $(shell command -v npm),,nodejs npm)
DEPS_CHECK := $(DEPS_HTML) bpftrace jq git perl python3 python3.11 valgrind gdb strace musl-tools libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0 \
	libgc1 go-md2man qemu-system-x86 cpio busybox-static libclang-rt-14-dev locales openssl ruby kmod procps util-linux passwd clang-format cppcheck \
	mandoc zsh fish golang-go protobuf-compiler heaptrack chromium libjemalloc-dev libxml2-utils tmux
DEPS_BENCH := $(DEPS_CHECK) linux-perf

deps: PKGS = $(DEPS)
deps-html: PKGS = $(DEPS_HTML)
deps-check: PKGS = $(DEPS_CHECK)
deps-bench: PKGS = $(DEPS_BENCH)
deps deps-html deps-check deps-bench: need-root
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
		'make fuzz     ten minutes of hostile unwind sections, then Go tables and profiles' \
		'make check-vm the main job under a 6.1 kernel in an emulated machine (root)' \
		'make deps     only install what building needs (root);  make deps-html  and npm, which -f html needs' \
		'make html     build, with another try at what -f html needs (npm)' \
		'make lint     format, include rules, static checks;  make format  applies the format' \
		'make clean    remove $(BUILD)' \
		'Variables: SANITIZE=1 (with make clean), V=1 (show commands), CFLAGS=, BUILD=, NO_HTML=1 (no -f html)'

-include $(LIB_OBJ:.o=.d) $(SAN_OBJ:.o=.d) $(CLI_SAN:.o=.d) $(CLI_OBJ:.o=.d) $(UNIT_BIN:%=%.d) $(WORK_BIN:%=%.d)
endif
