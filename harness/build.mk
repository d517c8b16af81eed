# SPDX-License-Identifier: MIT OR Apache-2.0
# harness/build.mk: the judge, its cases, and the proof that it can fail.

# ---- case side ----

CONFORM_CFLAGS = $(BASE_CFLAGS) -pthread -Iharness/include -Iruntime/include
CONFORM_LDLIBS := $(shell $(PKG_CONFIG) --libs check jansson 2>/dev/null) \
  -lpthread -ldl

# What differs between the kinds of subject is linked separately.
CONFORM_SUBJECT_SRCS := harness/lib/subject_dlopen.c \
  harness/lib/subject_linked.c harness/lib/subject_none.c \
  harness/lib/engine_forward.c harness/lib/engine_absent.c \
  harness/lib/test_engine_bundled.c
TEST_ENGINE_SRCS := $(sort $(wildcard harness/engine/*.c))
CONFORM_LIB_SRCS := $(filter-out $(CONFORM_SUBJECT_SRCS), \
  $(sort $(wildcard harness/lib/*.c)))
CONFORM_CASE_SRCS := $(sort $(wildcard harness/cases/*.c \
  harness/cases/*/*.c panic_zoo/*.c panic_zoo/c/*.c))

CONFORM_LIB_OBJS := $(CONFORM_LIB_SRCS:%.c=$(BUILD)/obj/%.o)
CONFORM_CASE_OBJS := $(CONFORM_CASE_SRCS:%.c=$(BUILD)/obj/%.o)
CONFORM_SUBJECT_OBJS := $(CONFORM_SUBJECT_SRCS:%.c=$(BUILD)/obj/%.o)
TEST_ENGINE_OBJS := $(TEST_ENGINE_SRCS:%.c=$(BUILD)/obj/%.o)
CONFORM_OBJS := $(CONFORM_LIB_OBJS) $(CONFORM_CASE_OBJS) \
  $(CONFORM_SUBJECT_OBJS)

$(CONFORM_OBJS): $(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CONFORM_CFLAGS) $(DEPFLAGS) -c -o $@ $<
-include $(CONFORM_OBJS:.o=.d)

# Position-independent: an implementation may put it into its own .so.
$(TEST_ENGINE_OBJS): $(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CONFORM_CFLAGS) -fPIC $(DEPFLAGS) -c -o $@ $<
-include $(TEST_ENGINE_OBJS:.o=.d)

# For an implementation: what the engine does (gte_run), and with it a whole
# gte_register over gusset_engine.h.
$(BUILD)/lib/libgusset_test_engine.a: $(BUILD)/obj/harness/engine/test_engine.o
$(BUILD)/lib/libgusset_test_engine_gse.a: $(TEST_ENGINE_OBJS)
# For the harness: the last gte_register on the link line of an archive.
$(BUILD)/lib/libconform_test_engine.a: \
  $(BUILD)/obj/harness/lib/test_engine_bundled.o \
  $(BUILD)/obj/harness/engine/gse_adapter.o \
  $(BUILD)/obj/harness/engine/test_engine.o
$(BUILD)/lib/libgusset_test_engine.a $(BUILD)/lib/libgusset_test_engine_gse.a \
$(BUILD)/lib/libconform_test_engine.a:
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# main, page, glue and host, for other case programs too (abi_check).
$(BUILD)/lib/conform-lib.o: $(CONFORM_LIB_OBJS)
	@mkdir -p $(@D)
	$(Q)$(CC) -nostdlib -r -o $@ $^

# All of the case program but its subject: one file, so that linking an
# archive at run time is quick and every constructor comes along.
$(BUILD)/lib/conform-cases.o: $(BUILD)/lib/conform-lib.o $(CONFORM_CASE_OBJS)
	@mkdir -p $(@D)
	$(Q)$(CC) -nostdlib -r -o $@ $^

$(BUILD)/lib/subject_%.o: $(BUILD)/obj/harness/lib/subject_%.o
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(BUILD)/lib/libconform_engine_absent.a: \
  $(BUILD)/obj/harness/lib/engine_absent.o
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/lib/conform-link.flags: Makefile harness/build.mk
	@mkdir -p $(@D)
	$(Q)echo '$(strip -pthread $(SAN) $(CONFORM_LDLIBS))' > $@

$(BUILD)/bin/conform-cases: $(BUILD)/lib/conform-cases.o \
  $(BUILD)/obj/harness/lib/subject_dlopen.o \
  $(BUILD)/obj/harness/lib/engine_forward.o \
  $(BUILD)/obj/harness/engine/gse_adapter.o \
  $(BUILD)/obj/harness/engine/test_engine.o
	@mkdir -p $(@D)
	$(Q)$(CC) -pthread $(SAN) -o $@ $^ $(CONFORM_LDLIBS)

# What the supervisor needs beside its own program to judge a .so or a .a.
CASE_PROGRAMS := $(BUILD)/bin/conform-cases
CONFORM_LINK_PARTS := $(addprefix $(BUILD)/lib/,conform-cases.o \
  subject_linked.o subject_none.o libconform_engine_absent.a \
  libconform_test_engine.a libgusset_test_engine.a \
  libgusset_test_engine_gse.a conform-link.flags)
ALL_TARGETS += $(CASE_PROGRAMS) $(CONFORM_LINK_PARTS)

# The sources of the cases in Go and of the package that they judge, as the
# supervisor builds them for each artifact; with them the manifests, which say
# what cases there are where there is no Go.
GO_CASES := $(BUILD)/share/gusset-conform/go
GO_CASES_SRCS := $(sort $(wildcard $(addprefix hosts/go/,*.go go.mod gusset.h \
  $(foreach folder,cases/ cases/*/,$(addprefix $(folder),*.go *.c *.h go.mod \
  manifest.jsonl)))))
$(GO_CASES)/stamp: $(GO_CASES_SRCS) harness/build.mk
	$(Q)rm -rf $(@D)
	$(Q)for file in $(GO_CASES_SRCS:hosts/go/%=%); do \
	  install -D -m 644 hosts/go/$$file $(@D)/$$file || exit 1; done
	$(Q)touch $@
CONFORM_LINK_PARTS += $(GO_CASES)/stamp
ALL_TARGETS += $(GO_CASES)/stamp

# The manifests are what the programs list.
GO ?= go
GO_LIST = CGO_LDFLAGS='-L$(abspath $(BUILD)/lib) \
  -Wl,-rpath,$(abspath $(BUILD)/lib)' $(GO) -C hosts/go/cases run -trimpath
.PHONY: go-manifest
go-manifest: $(RUNTIME_A) $(RUNTIME_SO) ## write down which cases in Go there are
	$(Q)set -e; for folder in . self; do \
	  $(GO_LIST) ./$$folder --list > $(BUILD)/manifest.jsonl; \
	  mv $(BUILD)/manifest.jsonl hosts/go/cases/$$folder/manifest.jsonl; done
	$(Q)$(MAKE) --no-print-directory BUILD='$(BUILD)' $(GO_CASES)/stamp

.PHONY: case-programs
case-programs: $(CASE_PROGRAMS) $(CONFORM_LINK_PARTS)

# ---- supervisor ----

# Never built with $(SAN): the supervisor loads no runtime, and the cases of
# conform-self must die by the signals they name. SUPERVISE_SAN is for tests
# of the supervisor itself.
SUPERVISE_SAN ?=
SUPERVISE_CFLAGS = $(CSTD) $(WARN) $(OPT) $(PREFIXMAP) -D_GNU_SOURCE \
  -fno-omit-frame-pointer -Iharness/include
SUPERVISE_LDLIBS := $(shell $(PKG_CONFIG) --libs jansson libsodium libelf \
  2>/dev/null || echo -ljansson -lsodium -lelf)

SUPERVISE_SRCS := $(sort $(wildcard harness/supervise/*.c \
  harness/supervise/report/*.c)) harness/self/table.c
SELF_SRCS := $(filter-out harness/self/table.c, \
  $(sort $(wildcard harness/self/*.c)))
SUPERVISE_OBJS := $(SUPERVISE_SRCS:%.c=$(BUILD)/obj/%.o)
SELF_OBJS := $(SELF_SRCS:%.c=$(BUILD)/obj/%.o)
CONTRACT_OBJ := $(BUILD)/obj/harness/supervise/contract_text.o

$(SUPERVISE_OBJS): $(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(SUPERVISE_CFLAGS) $(SUPERVISE_SAN) $(DEPFLAGS) -c -o $@ $<

# A frame the optimiser removed could not be seen in the stacks of a hang.
$(SELF_OBJS): $(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(SUPERVISE_CFLAGS) -O0 -pthread $(DEPFLAGS) -c -o $@ $<
-include $(SUPERVISE_OBJS:.o=.d) $(SELF_OBJS:.o=.d)

$(CONTRACT_OBJ): harness/supervise/contract_text.S docs/contract.md \
  docs/data/kills.tsv
	@mkdir -p $(@D)
	$(Q)$(CC) '-DCONTRACT_FILE="docs/contract.md"' \
	  '-DKILLS_FILE="docs/data/kills.tsv"' -c -o $@ $<

# The reader of claims files is the case side's own, built without $(SAN).
CLAIMS_OBJ := $(BUILD)/plain/harness/lib/claims_file.o

$(BUILD)/bin/gusset-conform: $(SUPERVISE_OBJS) $(CONTRACT_OBJ) $(CLAIMS_OBJ)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SUPERVISE_SAN) -o $@ $^ $(SUPERVISE_LDLIBS)

$(BUILD)/bin/conform-self: $(SELF_OBJS)
	@mkdir -p $(@D)
	$(Q)$(CC) -pthread -o $@ $^

# The glue of the cases, tried on a subject that is wrong on demand; without
# $(SAN) too, so that a leak on purpose is a leak and not a report.
GLUE_OBJS := $(BUILD)/plain/harness/self/glue/cases.o \
  $(BUILD)/plain/harness/self/glue/oracles.o \
  $(BUILD)/plain/harness/self/glue/subject.o \
  $(BUILD)/plain/harness/lib/subject_linked.o \
  $(BUILD)/plain/harness/lib/engine_absent.o \
  $(BUILD)/plain/harness/lib/test_engine_bundled.o \
  $(BUILD)/plain/harness/engine/gse_adapter.o \
  $(BUILD)/plain/harness/engine/test_engine.o \
  $(CONFORM_LIB_SRCS:%.c=$(BUILD)/plain/%.o)

$(GLUE_OBJS): $(BUILD)/plain/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out $(SAN),$(CONFORM_CFLAGS)) $(DEPFLAGS) -c -o $@ $<
-include $(GLUE_OBJS:.o=.d)

$(BUILD)/bin/conform-self-glue: $(GLUE_OBJS)
	@mkdir -p $(@D)
	$(Q)$(CC) -pthread -o $@ $^ $(CONFORM_LDLIBS)

SUPERVISE_TARGETS := $(BUILD)/bin/gusset-conform $(BUILD)/bin/conform-self \
  $(BUILD)/bin/conform-self-glue
ALL_TARGETS += $(SUPERVISE_TARGETS)

.PHONY: supervisor self
supervisor: $(SUPERVISE_TARGETS)

self: supervisor $(CASE_PROGRAMS) $(BUILD)/bin/abi-check
	$(Q)$(BUILD)/bin/gusset-conform self --out $(BUILD)/self

.PHONY: supervisor-check
supervisor-check: supervisor case-programs runtime
	$(Q)CC='$(CC)' harness/self/command_line.sh $(BUILD)/bin $(BUILD)/self
CHECK_TARGETS += self supervisor-check

# On copies of the reference that look like somebody else's runtime.
.PHONY: test-engine-check
test-engine-check: supervisor case-programs $(RUNTIME_A) $(RUNTIME_SO)
	$(Q)CC='$(CC)' CXX='$(CXX)' AR='$(AR)' OBJCOPY='$(OBJCOPY)' \
	  SAN='$(SAN)' harness/engine/check.sh $(BUILD) $(BUILD)/test-engine
CHECK_TARGETS += test-engine-check

# ---- mutants ----

MUTANTS_DIR := harness/mutants
MUTANTS ?=
MUTANTS_FLAGS ?=
FULL ?=
KILLS := docs/data/kills.tsv
MUTANTS_RUN = $(Q)CC='$(CC)' $(MUTANTS_DIR)/mutants.py \
  --conform $(BUILD)/bin/gusset-conform \
  --conform-tsan $(BUILD)/tsan/bin/gusset-conform \
  --out $(BUILD)/mutants $(MUTANTS_FLAGS)

# Seeded faults, and generated ones for the hot files; MUTANTS="name glob"
# judges only those, FULL=1 runs all cases against each. mutants-record writes
# the table of proofs from a run of all.
.PHONY: mutants mutants-record mutants-programs
mutants-programs: $(BUILD)/bin/gusset-conform $(BUILD)/bin/conform-self \
  $(CASE_PROGRAMS) $(BUILD)/bin/abi-check $(CONFORM_LINK_PARTS)
	$(Q)scripts/setup check
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/tsan SAN='$(TSAN_FLAGS)' \
	  supervisor case-programs $(BUILD)/tsan/bin/abi-check

mutants: mutants-programs ## seeded faults, each found by its case (FULL=1: by all)
	$(MUTANTS_RUN) $(if $(FULL),--full) $(MUTANTS)

mutants-record: mutants-programs
	$(MUTANTS_RUN) $(if $(FULL),--full) --kills $(KILLS)

# The driver of the above, shown failing.
.PHONY: mutants-self
mutants-self:
	$(Q)$(MUTANTS_DIR)/selftest/selftest.py $(BUILD)/mutants-self
CHECK_TARGETS += mutants-self
