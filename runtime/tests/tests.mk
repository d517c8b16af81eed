# SPDX-License-Identifier: MIT OR Apache-2.0
# Unit tests of the runtime's internals (`make unit`) and models of its two
# lock-free protocols (`make models`). Included by runtime/build.mk.

UNIT_DIR := runtime/tests
UNIT_SRC := $(sort $(wildcard $(UNIT_DIR)/test_*.c))
UNIT_COMMON := $(UNIT_DIR)/t.c $(UNIT_DIR)/fault.c
UNIT_OBJ := $(UNIT_SRC:%.c=$(BUILD)/obj/%.o)
UNIT_COMMON_OBJ := $(UNIT_COMMON:%.c=$(BUILD)/obj/%.o)
UNIT_BIN := $(UNIT_SRC:$(UNIT_DIR)/%.c=$(BUILD)/tests/%)

# Lazy, so that a build without Check installed fails only when it is needed.
UNIT_CHECK_CFLAGS = $(shell $(PKG_CONFIG) --cflags check)
UNIT_CHECK_LIBS = $(shell $(PKG_CONFIG) --libs check)

# Calls of the runtime that fault.c can make fail. The linker replaces them in
# the archive's objects, so the code under test is the code that ships.
UNIT_WRAPPED := malloc calloc realloc mmap mprotect pthread_create sigaltstack \
	fcntl pthread_sigmask write
UNIT_LDFLAGS := $(UNIT_WRAPPED:%=-Wl,--wrap=%)

$(UNIT_OBJ) $(UNIT_COMMON_OBJ): $(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE_CFLAGS) $(DEPFLAGS) -Iruntime/src -Iruntime/include \
	    $(UNIT_CHECK_CFLAGS) -pthread -c -o $@ $<

$(UNIT_BIN): $(BUILD)/tests/%: $(BUILD)/obj/$(UNIT_DIR)/%.o \
		$(UNIT_COMMON_OBJ) $(BUILD)/lib/libgusset.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(SAN) -pthread $(UNIT_LDFLAGS) -o $@ $^ $(UNIT_CHECK_LIBS)

.PHONY: unit models unit-build
unit-build: $(UNIT_BIN)

unit: $(UNIT_BIN) ## unit tests of the runtime's internals
	$(Q)$(UNIT_DIR)/run-unit $(UNIT_BIN)

models: ## search the models of ring and pool with spin
	$(Q)CC="$(CC)" $(UNIT_DIR)/models/run $(BUILD)/models

CHECK_TARGETS += unit models

-include $(UNIT_OBJ:.o=.d) $(UNIT_COMMON_OBJ:.o=.d)
