# SPDX-License-Identifier: MIT OR Apache-2.0
# The one build file; each folder adds its part in <folder>/build.mk.
# `make help` lists the targets that people and CI call.

BUILD ?= build
ifeq ($(origin CC),default)
CC := cc
endif
ifeq ($(origin CXX),default)
CXX := c++
endif
ifeq ($(origin AR),default)
AR := ar
endif
NM ?= nm
OBJCOPY ?= objcopy
PKG_CONFIG ?= pkg-config
SAN ?=
V ?=
Q := $(if $(V),,@)
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

CSTD := -std=c11
WARN := -Wall -Wextra -Wpedantic -Werror
OPT ?= -O2 -g
PREFIXMAP := -ffile-prefix-map=$(CURDIR)=.
BASE_CFLAGS = $(CSTD) $(WARN) $(OPT) $(PREFIXMAP) -fno-omit-frame-pointer $(SAN)
DEPFLAGS := -MMD -MP

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

include $(sort $(wildcard */build.mk))

# IMPL=FILE judges that build in place of the reference, CLAIMS=FILE is what it
# declares of itself; ARGS="..." is passed on to gusset-conform run.
IMPL ?=
CLAIMS ?=
ARGS ?=
CONFORM = $(BUILD)/bin/gusset-conform

.PHONY: all clean help setup conformance conformance-run check check-run
all: $(ALL_TARGETS)

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | \
	    awk -F':.*## ' '{ printf "  %-18s %s\n", $$1, $$2 }'

conformance: ## judge the reference, or IMPL=FILE [CLAIMS=FILE]: set-up, build, run
	$(Q)scripts/setup conformance
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) all
	$(Q)$(MAKE) --no-print-directory conformance-run

# The programs are built by `all`: this target only judges.
conformance-run: export CONFORM_IMPL = $(IMPL)
conformance-run: export CONFORM_CLAIMS = $(CLAIMS)
conformance-run:
	$(Q)$(CONFORM) run $${CONFORM_IMPL:+--impl "$$CONFORM_IMPL"} \
	    $${CONFORM_CLAIMS:+--claims "$$CONFORM_CLAIMS"} $(ARGS)

# Runtime and cases under a sanitizer, each in a build directory of its own.
ASAN_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -fexceptions
TSAN_FLAGS := -fsanitize=thread
.PHONY: asan tsan
asan: ## cases and runtime under ASan, UBSan and LSan
asan: export ASAN_OPTIONS := detect_leaks=1:abort_on_error=0
asan: export UBSAN_OPTIONS := print_stacktrace=1
asan:
	$(Q)scripts/setup sanitizers
	$(Q)CC='$(CC)' scripts/sanitizer-bites $(ASAN_FLAGS)
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) BUILD=$(BUILD)/asan SAN='$(ASAN_FLAGS)' all
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/asan SAN='$(ASAN_FLAGS)' conformance-run
tsan: ## cases and runtime under TSan
tsan: export TSAN_OPTIONS := halt_on_error=1
tsan:
	$(Q)scripts/setup sanitizers
	$(Q)CC='$(CC)' scripts/sanitizer-bites $(TSAN_FLAGS)
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) BUILD=$(BUILD)/tsan SAN='$(TSAN_FLAGS)' all
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/tsan SAN='$(TSAN_FLAGS)' \
	    ARGS='--timeout-scale 4 $(ARGS)' conformance-run

.PHONY: docs
docs: all ## record a run and write README's block of output from it
	$(Q)$(CONFORM) run > $(BUILD)/conformance.txt
	$(Q)scripts/readme-output record $(BUILD)/conformance.txt
	$(Q)scripts/readme-output update

.PHONY: coverage coverage-check
coverage: supervisor case-programs ## clause, case, mutant: docs/coverage.md, build/coverage.html
	$(Q)scripts/coverage --build $(BUILD)
coverage-check: supervisor case-programs ## exit 1 when the coverage has a hole without an excuse
	$(Q)scripts/coverage --build $(BUILD) --check

.PHONY: style format install-check compilers
style: supervisor case-programs ## house rules, formats, manual page, coverage page
	$(Q)BUILD='$(BUILD)' scripts/style
format: ## let clang-format decide
	$(Q)git ls-files '*.c' '*.h' | grep -v '^abi_check/bad/' | xargs clang-format -i
install-check: ## install, use, uninstall
	$(Q)scripts/install-check
compilers: ## the runtime by gcc, clang and musl-gcc
	$(Q)scripts/compilers

check: ## unit tests, models, ABI checks, cases on .a and .so, mutants
	$(Q)scripts/setup check
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) all
	$(Q)MAKE='$(MAKE)' scripts/check $(BUILD)/check style $(CHECK_TARGETS) install-check compilers conformance-run mutants

clean: ## remove all build output
	rm -rf $(BUILD)
