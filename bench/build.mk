# SPDX-License-Identifier: MIT OR Apache-2.0
# What a round trip costs: system calls, allocations, instructions, time.
# See bench/README.md. Only gusset.h and the built archive are used.

BENCH_SRC := $(sort $(wildcard bench/*.c))
BENCH_OBJ := $(BENCH_SRC:%.c=$(BUILD)/obj/%.o)
BENCH_OUT := $(BUILD)/bench
BENCH_BIN := $(BENCH_OUT)/roundtrip $(BENCH_OUT)/steady $(BENCH_OUT)/syscount
BENCH_LIB := $(BUILD)/lib/libgusset.a

$(BENCH_OBJ): $(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE_CFLAGS) $(DEPFLAGS) -Iruntime/include -pthread -c -o $@ $<

bench_obj = $(1:%=$(BUILD)/obj/bench/%.o)

$(BENCH_OUT)/roundtrip: $(call bench_obj,roundtrip subject floor samples) \
		$(BENCH_LIB)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SAN) -pthread -o $@ $^

# The allocator's names are wrapped in this link, in the archive's objects too.
$(BENCH_OUT)/steady: $(call bench_obj,steady subject samples) $(BENCH_LIB)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SAN) -pthread -Wl,--wrap=malloc,--wrap=calloc \
	    -Wl,--wrap=realloc,--wrap=aligned_alloc,--wrap=posix_memalign \
	    -o $@ $^

$(BENCH_OUT)/syscount: $(call bench_obj,syscount)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SAN) -o $@ $^

.PHONY: bench-build bench-zero bench-instructions bench-quick
bench-build: $(BENCH_BIN)

# Fails unless the ring's steady state makes no system call, no allocation.
bench-zero: $(BENCH_OUT)/steady $(BENCH_OUT)/syscount ## 0 calls, 0 allocations
	$(Q)$(BENCH_OUT)/syscount $(BENCH_OUT)/steady windows

bench-instructions: $(BENCH_OUT)/steady
	$(Q)bench/instructions $(BENCH_OUT)/steady $(BENCH_OUT)

bench-quick: ## what a round trip costs
	$(Q)scripts/setup bench
	$(Q)$(MAKE) --no-print-directory bench-zero bench-instructions \
	    $(BENCH_OUT)/roundtrip
	$(Q)$(BENCH_OUT)/roundtrip --json $(BENCH_OUT)/roundtrip.json

CHECK_TARGETS += bench-zero

-include $(BENCH_OBJ:.o=.d)
