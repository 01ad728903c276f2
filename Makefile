# Heracles. `make demo` and `make test` do everything on a fresh Debian 12 machine: install the packages
# they need, build, run. Variables: BUILD (folder), CC, CFLAGS, SANITIZE, WERROR=1, prefix, DESTDIR.

BUILD   ?= build
# make V=1 shows the commands
Q        = $(if $V,,@)
CFLAGS  ?= -O3 -g
prefix  ?= /usr/local
WARN     = -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wvla $(if $(WERROR),-Werror)
# -ffp-contract=off: the same arithmetic from every compiler and machine. Never -ffast-math: it deletes NaN checks.
# A bug in a parser must not become more than a crash: canaries, checked copies, guarded stacks, and tables
# that are not written once the program runs.
HARDEN   = -fstack-protector-strong -fstack-clash-protection $(if $(SANITIZE),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
LDHARDEN = -Wl,-z,relro,-z,now,-z,noexecstack
FLAGS    = -std=c11 -D_GNU_SOURCE -Iinclude -Isrc -fopenmp-simd -ffp-contract=off -fno-math-errno -fvisibility=hidden -fPIC \
           -pthread $(WARN) $(HARDEN) $(CFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all)

# Debian packages: to build, to test, to format.
PKG_BUILD = libmujoco-dev libopenblas-dev libjansson-dev libzip-dev zlib1g-dev libzstd-dev libjs-three cyclonedds-dev cyclonedds-tools libwebsockets-dev \
            $(if $(MPI),libopenmpi-dev openmpi-bin)
PKG_TEST  = $(PKG_BUILD) chromium libpng-dev
PKG_CHECK = $(PKG_BUILD) clang-format clang-tidy cppcheck
PKG_FUZZ  = $(PKG_BUILD) clang libclang-rt-14-dev

# libheracles needs libm and threads; the program also motions, simulator and the rest.
LIB_DIRS    = base nn onnx robot plan track control
MOTION_DIRS = motion motion/import motion/retarget
APP_DIRS    = $(MOTION_DIRS) sim eval learn play deploy cli
# The motion readers that need no other library are part of libheracles.
LIB_MOTION  = $(patsubst %,src/motion/%.c,clip stats $(addprefix import/,csv npy order plain rate))
sources     = $(filter-out $(OTHER_COMM),$(foreach d,$(1),$(wildcard src/$(d)/*.c)))
embedded    = $(foreach d,$(1),$(wildcard src/$(d)/*.S))
# make MPI=1 BUILD=build-mpi: training in several processes (src/learn/comm.h).
OTHER_COMM = src/learn/$(if $(MPI),comm_single,comm_mpi).c
objects   = $(patsubst %,$(BUILD)/%.o,$(basename $(1)))
LIB_OBJ   = $(call objects,$(call sources,$(LIB_DIRS)) $(LIB_MOTION))
APP_OBJ   = $(call objects,$(filter-out $(LIB_MOTION),$(call sources,$(APP_DIRS))) $(call embedded,$(APP_DIRS))) $(BUILD)/idl/g1.o
TEST_OBJ  = $(call objects,$(wildcard test/*.c))
APP_LIBS  = -lmujoco -lopenblas -lzip -lz -lzstd -ljansson -lddsc -lwebsockets -lm $(if $(MPI),$(shell mpicc -showme:link))
JANSSON_A = $(shell $(CC) -print-file-name=libjansson.a)

.PHONY: all demo test asan tsan fuzz fuzz-run soak bench install format format-check check assets motions corpus corpus-select \
        npm newer-mujoco check-onnx compare-planner check-mcap clean help

all: $(BUILD)/heracles $(BUILD)/libheracles.a $(BUILD)/libheracles.so

help:
	@echo "make demo | test | all | install | asan | tsan | fuzz | soak | check | bench | format | clean"

demo: all
	$(BUILD)/heracles demo -o demo.html
	@echo "To push the robot yourself, live in the browser: $(BUILD)/heracles play"

test: $(BUILD)/.packages-test
	@$(MAKE) --no-print-directory all $(BUILD)/test/run
	$(BUILD)/test/run $(TEST)

# An hour of hard motions with healthy sensors, one under random faults, one with recovery on besides, and what the
# bounds on targets cost; in simulated time, about half an hour of one core.
.PHONY: soak
soak: $(BUILD)/.packages-test
	@$(MAKE) --no-print-directory all $(BUILD)/test/run
	SOAK_S=3600 SOAK_CLIPS=60 SOAK_STEPS=1000000 nice -n 10 $(BUILD)/test/run soak,bounds.soak

asan: # running out of memory is among the tests
	@ASAN_OPTIONS=allocator_may_return_null=1 $(MAKE) --no-print-directory test BUILD=$(BUILD)-asan SANITIZE=address,undefined CFLAGS="-O1 -g"

# What runs in several threads or processes. Reports of processes whose exit code no test looks at count too.
TSAN_TESTS = pool,sim.,slot,wire,deploy.lockstep,deploy.refusals,deploy.dry,deploy.frozen,life.keys,life.w,operator,play_server,playground
tsan:
	@rm -f $(BUILD)-tsan/race.*
	@TSAN_OPTIONS="suppressions=$(CURDIR)/test/tsan.supp log_path=$(abspath $(BUILD)-tsan)/race" \
	    $(MAKE) --no-print-directory test BUILD=$(BUILD)-tsan SANITIZE=thread CFLAGS="-O1 -g" TEST=$(TSAN_TESTS)
	@! grep -h SUMMARY $(BUILD)-tsan/race.* 2> /dev/null

# Each parser against its fuzzer, starting from the files of its kind in test/data; those without an ending
# make a good file themselves, which is edited. What was found once is in test/data/found-NAME-*. With
# FUZZ_RUNS so many inputs from a fixed seed instead of so many seconds.
FUZZ = csv:csv npz:npz bvh:bvh safetensors:safetensors corpus:corpus config:ini suite:suite manifest:manifest \
       map:map pickle:pkl mcap: model: rollout: checkpoint: onnx:
FUZZ_RECORDING = $(patsubst %,src/deploy/%.c,mcap record reflight brain pilot gate sensors lower) src/eval/rollout.c
FUZZ_SECONDS ?= 60
FUZZ_LENGTH = $(if $(FUZZ_RUNS),-runs=$(FUZZ_RUNS) -seed=18,-max_total_time=$(FUZZ_SECONDS))
fuzz: $(BUILD)/.packages-fuzz
	@$(MAKE) --no-print-directory fuzz-run BUILD=$(BUILD)-fuzz CC=clang \
	    SANITIZE=fuzzer-no-link,address,undefined CFLAGS="-O1 -g -Wno-pass-failed"
fuzz-run: $(foreach f,$(FUZZ),$(BUILD)/fuzz-$(word 1,$(subst :, ,$(f))))
	@set -e; for f in $(FUZZ); do name=$${f%:*}; ending=$${f#*:}; mkdir -p $(BUILD)/corpus-$$name; \
	    test -z "$$ending" || cp test/data/*.$$ending $(BUILD)/corpus-$$name/; \
	    cp test/data/found-$$name-* $(BUILD)/corpus-$$name/ 2>/dev/null || true; echo "fuzz: $$name"; \
	    $(BUILD)/fuzz-$$name $(FUZZ_LENGTH) -timeout=10 -rss_limit_mb=1024 -verbosity=0 \
	        -print_final_stats=1 -artifact_prefix=$(BUILD)/found-$$name- $(BUILD)/corpus-$$name; done
.SECONDARY: $(call objects,$(wildcard test/fuzz/*.c))
$(BUILD)/fuzz-mcap: $(call objects,$(FUZZ_RECORDING))
$(BUILD)/fuzz-rollout: $(BUILD)/src/eval/rollout.o
$(BUILD)/fuzz-checkpoint: $(call objects,src/sim/env_stored.c src/learn/replay.c)
$(BUILD)/fuzz-%: $(BUILD)/test/fuzz/%.o $(call objects,$(call sources,$(MOTION_DIRS)) $(call embedded,$(MOTION_DIRS))) $(LIB_OBJ)
	$Q$(CC) $(FLAGS) -fsanitize=fuzzer $^ -o $@ -lzip -lz -lzstd -ljansson -lm

bench: all
	$(BUILD)/heracles bench sim

# The bars of tracker training; up to 2 h 10 min of an idle machine.
.PHONY: bench-train
bench-train: all
	tools/bench_train $(BUILD)/heracles

# Packages: one stamp per set, so that nothing is asked of dpkg twice.
$(BUILD)/.packages-build: Makefile
	@tools/packages $(PKG_BUILD) && mkdir -p $(@D) && touch $@
$(BUILD)/.packages-test: Makefile
	@tools/packages $(PKG_TEST) && mkdir -p $(@D) && touch $@
$(BUILD)/.packages-fuzz: Makefile
	@tools/packages $(PKG_FUZZ) && mkdir -p $(@D) && touch $@
$(BUILD)/.packages-check: Makefile
	@tools/packages $(PKG_CHECK) && mkdir -p $(@D) && touch $@

$(BUILD)/src/learn/comm_mpi.o: CFLAGS += $(shell mpicc -showme:compile)
$(BUILD)/%.o: %.c | $(BUILD)/.packages-build
	@mkdir -p $(@D)
	@echo "  CC $<"
	$Q$(CC) $(FLAGS) -MMD -MP -c $< -o $@
# The messages of the robot: idlc writes the C code of src/deploy/g1.idl; only src/deploy and its tests see it.
$(BUILD)/idl/g1.c: src/deploy/g1.idl | $(BUILD)/.packages-build
	@mkdir -p $(@D)
	$Qcd $(@D) && idlc -l c $(CURDIR)/$<
$(BUILD)/idl/g1.o: $(BUILD)/idl/g1.c
	$Q$(CC) $(FLAGS) -c $< -o $@
IDL_USERS = $(call objects,$(wildcard src/deploy/wire*.c test/wire*.c))
$(IDL_USERS): FLAGS += -I$(BUILD)/idl
$(IDL_USERS): $(BUILD)/idl/g1.c
$(BUILD)/%.o: %.S src/base/embed.h $(wildcard assets/* assets/*/*) | $(BUILD)/.packages-build
	@mkdir -p $(@D)
	$Q$(CC) -Isrc -Iassets -I/usr/share/javascript/three -c $< -o $@

$(BUILD)/heracles: $(APP_OBJ) $(LIB_OBJ)
	@echo "  LD $@"
	$Q$(CC) $(FLAGS) $^ -o $@ $(LDHARDEN) $(LDFLAGS) $(APP_LIBS)

# One object with Jansson inside and only hrc_ names outside, so that neither library needs anything else.
$(BUILD)/libheracles.o: $(LIB_OBJ)
	$Qobjcopy --redefine-sym stdin=jansson_stdin $(JANSSON_A) $(BUILD)/libjansson.a
	$Q$(LD) -r $^ $(BUILD)/libjansson.a -o $@
	$Qobjcopy --wildcard --keep-global-symbol='hrc_*' $@
$(BUILD)/libheracles.a: $(BUILD)/libheracles.o
	$Qrm -f $@ && $(AR) rcs $@ $<
$(BUILD)/libheracles.so: $(BUILD)/libheracles.o
	$Q$(CC) $(FLAGS) -shared $(LDHARDEN) -Wl,-z,defs -Wl,-soname,libheracles.so.0 $< -o $@ -lm

$(BUILD)/test/run: $(TEST_OBJ) $(filter-out $(BUILD)/src/cli/main.o,$(APP_OBJ)) $(LIB_OBJ)
	@echo "  LD $@"
	$Q$(CC) $(FLAGS) $^ -o $@ $(LDFLAGS) $(APP_LIBS) -lpng

install: all
	install -d $(DESTDIR)$(prefix)/bin $(DESTDIR)$(prefix)/lib/pkgconfig $(DESTDIR)$(prefix)/include
	install $(BUILD)/heracles $(DESTDIR)$(prefix)/bin/
	install -m 644 include/heracles.h $(DESTDIR)$(prefix)/include/
	install -m 644 $(BUILD)/libheracles.a $(DESTDIR)$(prefix)/lib/
	install $(BUILD)/libheracles.so $(DESTDIR)$(prefix)/lib/libheracles.so.0
	ln -sf libheracles.so.0 $(DESTDIR)$(prefix)/lib/libheracles.so
	install -d $(DESTDIR)$(prefix)/share/heracles/motions/suites
	install -m 644 motions/*.safetensors $(DESTDIR)$(prefix)/share/heracles/motions/
	install -m 644 motions/suites/*.csv $(DESTDIR)$(prefix)/share/heracles/motions/suites/
	install -d $(DESTDIR)$(prefix)/share/heracles/models $(DESTDIR)$(prefix)/share/heracles/python
	install -m 644 python/heracles.py $(DESTDIR)$(prefix)/share/heracles/python/
	for m in $(wildcard models/*.safetensors); do install -m 644 $$m $(DESTDIR)$(prefix)/share/heracles/models/; done
	install -d $(DESTDIR)$(prefix)/share/man/man1 $(DESTDIR)$(prefix)/share/bash-completion/completions
	$(BUILD)/heracles help man > $(DESTDIR)$(prefix)/share/man/man1/heracles.1
	$(BUILD)/heracles help bash-completion > $(DESTDIR)$(prefix)/share/bash-completion/completions/heracles
	sed 's|@prefix@|$(prefix)|' tools/heracles.pc.in > $(DESTDIR)$(prefix)/lib/pkgconfig/heracles.pc

FORMATTED = $(wildcard include/*.h src/*/*.[ch] src/*/*/*.[ch] src/*/*.inc test/*.[ch] test/fuzz/*.[ch] tools/*.c examples/*.c)
format:
	clang-format -i $(FORMATTED)
format-check:
	clang-format --dry-run -Werror $(FORMATTED)

# Before a commit: format, words, clang-tidy (settings: .clang-tidy) and cppcheck on what differs from BASE, and
# the order of the folders.
BASE ?= main
check: $(BUILD)/.packages-check $(BUILD)/test/run
	@tools/check $(BASE) $(filter-out -W%,$(FLAGS))
	@$(BUILD)/test/run layers

# What is generated and kept in git: the model file, and the motions made by formula.
assets: all
	$(BUILD)/heracles robot --mjcf > assets/g1.xml
motions: $(BUILD)/make_motions
	$(BUILD)/make_motions
$(BUILD)/make_motions: $(BUILD)/tools/make_motions.o $(filter-out $(BUILD)/src/cli/main.o,$(APP_OBJ)) $(LIB_OBJ)
	$Q$(CC) $(FLAGS) $^ -o $@ $(LDFLAGS) $(APP_LIBS)

# The corpus and its suites, bit for bit, from the BVH files of the CMU clips in one folder (docs/corpus.md).
# The clips of heldout101 and validation stay as they are: chosen once, they must not move when the
# retargeting changes:
# make corpus CMU_DIR=folder
CORPUS_BUILD = test -n "$(CMU_DIR)" || { echo "make $@ CMU_DIR=FOLDER: which folder has the BVH files?"; exit 2; }; \
	$(BUILD)/heracles corpus build --bvh-dir "$(CMU_DIR)" --manifest motions/cmu.csv --lift \
	    --heldout motions/suites/heldout101.csv --validation motions/suites/validation.csv \
	    --source "CMU Graphics Lab Motion Capture Database, mocap.cs.cmu.edu" \
	    --licence "free for research and commercial use, with acknowledgement" \
	    --acknowledgement "The data used in this project was obtained from mocap.cs.cmu.edu. The database was created with funding from NSF EIA-0196217."
corpus: all
	@$(CORPUS_BUILD) -o motions/cmu.safetensors
	$(BUILD)/heracles corpus suites motions/cmu.safetensors -o motions/suites

# Which of the clips in motions/cmu.csv that is, chosen again: half an hour of one core.
corpus-select: all
	@$(CORPUS_BUILD) --all -o $(BUILD)/all.safetensors
	$(BUILD)/heracles corpus select $(BUILD)/all.safetensors --followed $(BUILD)/followed.csv -o motions/cmu.csv

# What the optional checks below use, pinned by tools/npm/package-lock.json with a digest each; no install
# script of a package is run.
NPM = mkdir -p $(BUILD)/npm && cp tools/npm/package.json tools/npm/package-lock.json $(BUILD)/npm/ && \
      (cd $(BUILD)/npm && npm ci --silent --ignore-scripts --no-audit --no-fund)

# For the tests runtime.*, which skip without it.
npm:
	@$(NPM)

# Optional: the model file in the newest MuJoCo, through npm.
newer-mujoco:
	@$(NPM) && cp tools/newer_mujoco.mjs $(BUILD)/npm/
	node $(BUILD)/npm/newer_mujoco.mjs

# Optional: a planner's or tracker's ONNX export in ONNX Runtime (npm): make check-onnx MODEL=planner.safetensors
# [EXPORT="--dialect unitree --motion walk.csv"]
check-onnx: all
	@$(NPM) && cp tools/check_onnx.mjs $(BUILD)/npm/
	$(BUILD)/heracles export $(MODEL) -o $(BUILD)/npm/field.onnx $(EXPORT) --json > $(BUILD)/npm/field.json
	node $(BUILD)/npm/check_onnx.mjs $(BUILD)/npm/field.json

# Optional: a replan here, in PyTorch (apt: python3-torch) and in ONNX Runtime (npm), in the same run.
compare-planner: all
	@$(NPM) && cp tools/time_onnx.mjs $(BUILD)/npm/
	$(BUILD)/heracles train planner motions/wave.safetensors -o $(BUILD)/npm/full.safetensors --preset paper \
	    --planner.steps=1 --planner.batch=8 --float --quiet --overwrite
	$(BUILD)/heracles export $(BUILD)/npm/full.safetensors -o $(BUILD)/npm/full.onnx
	/usr/bin/python3 tools/compare_planner.py $(abspath $(BUILD))/heracles $(abspath $(BUILD))/npm/full.onnx

# Optional: a recording of deploy in the readers that Foxglove uses (npm): make check-mcap FILE=run.mcap
check-mcap:
	@$(NPM) && cp tools/check_mcap.mjs $(BUILD)/npm/
	node $(BUILD)/npm/check_mcap.mjs $(abspath $(FILE))

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz $(BUILD)-clang

-include $(LIB_OBJ:.o=.d) $(APP_OBJ:.o=.d) $(TEST_OBJ:.o=.d) $(wildcard $(BUILD)/test/fuzz/*.d)
