# SPDX-License-Identifier: MIT OR Apache-2.0
# abi_check/build.mk: what an artifact looks like from outside, as a case
# program, and the proof that each of its checks refuses a wrong input.

ABI_CHECK_CFLAGS = $(BASE_CFLAGS) -I. -Iruntime/include -Iharness/include \
  -DABI_CHECK_SAN='"$(strip $(SAN))"'
ABI_CHECK_LDLIBS := $(shell $(PKG_CONFIG) --libs libdw libelf 2>/dev/null || \
  echo -ldw -lelf)

ABI_CHECK_CASE_SRCS := abi_check/cases.c abi_check/header_cases.c \
  abi_check/hardened_cases.c abi_check/links_cases.c \
  abi_check/unload_cases.c abi_check/report.c
ABI_CHECK_SRCS := $(filter-out $(ABI_CHECK_CASE_SRCS), \
  $(sort $(wildcard abi_check/*.c)))
ABI_CHECK_BAD_SRCS := abi_check/bad/refuse.c abi_check/bad/artifacts.c \
  abi_check/bad/layouts.c abi_check/bad/headers.c abi_check/bad/hardened.c

ABI_CHECK_OBJS := $(ABI_CHECK_SRCS:%.c=$(BUILD)/obj/%.o)
ABI_CHECK_CASE_OBJS := $(ABI_CHECK_CASE_SRCS:%.c=$(BUILD)/obj/%.o)
ABI_CHECK_BAD_OBJS := $(ABI_CHECK_BAD_SRCS:%.c=$(BUILD)/obj/%.o)

$(ABI_CHECK_OBJS) $(ABI_CHECK_CASE_OBJS) $(ABI_CHECK_BAD_OBJS): \
  $(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ABI_CHECK_CFLAGS) $(DEPFLAGS) -c -o $@ $<
-include $(ABI_CHECK_OBJS:.o=.d) $(ABI_CHECK_CASE_OBJS:.o=.d) \
  $(ABI_CHECK_BAD_OBJS:.o=.d)

# The compiler does not see what the assembler includes.
$(BUILD)/obj/abi_check/embed.o: runtime/include/gusset.h \
  abi_check/libc-names abi_check/compiler-names \
  abi_check/probes/posix.h abi_check/probes/contract.h \
  abi_check/header_layout.c abi_check/header_layout.h \
  abi_check/layout.h abi_check/frozen.h abi_check/findings.h \
  $(wildcard abi_check/others/*)

$(BUILD)/bin/abi-check: $(ABI_CHECK_CASE_OBJS) $(ABI_CHECK_OBJS) \
  $(BUILD)/lib/conform-lib.o $(BUILD)/lib/subject_none.o
	@mkdir -p $(@D)
	$(Q)$(CC) -pthread $(SAN) -o $@ $^ $(CONFORM_LDLIBS) \
	  $(ABI_CHECK_LDLIBS)

ALL_TARGETS += $(BUILD)/bin/abi-check
case-programs mutants: $(BUILD)/bin/abi-check

# ---- wrong inputs ----

ABI_CHECK_BAD := $(BUILD)/abi_check/bad
ABI_CHECK_BAD_INPUTS := $(wildcard abi_check/bad/*.sh) \
  $(addprefix abi_check/bad/,specimen.c specimen.map eighteenth.c \
  data_take.c old_take.c own_malloc.c own_memcpy.c neighbours.c no_names.c \
  calls.c static_tls.c text_relocation.c common_name.c)

$(ABI_CHECK_BAD)/made: $(ABI_CHECK_BAD_INPUTS) runtime/include/gusset.h
	@mkdir -p $(@D)
	$(Q)abi_check/bad/headers.sh runtime/include/gusset.h $(@D)/headers
	$(Q)CC='$(CC)' AR='$(AR)' OBJCOPY='$(OBJCOPY)' \
	  abi_check/bad/inputs.sh $(@D)
	$(Q)touch $@

# The table of header_layout.c as a compiler sees it from a wrong header.
ABI_CHECK_WRONG := swapped signed-line unsigned-code const-msg plain-file \
  integer-msg packed grown words constant
ABI_CHECK_WRONG_OBJS := \
  $(ABI_CHECK_WRONG:%=$(BUILD)/obj/abi_check/bad/header_layout-%.o)

$(ABI_CHECK_WRONG_OBJS): $(BUILD)/obj/abi_check/bad/header_layout-%.o: \
  abi_check/header_layout.c abi_check/header_layout.h abi_check/layout.h \
  abi_check/frozen.h $(ABI_CHECK_BAD)/made
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE_CFLAGS) -I. -I$(ABI_CHECK_BAD)/headers/$* \
	  -DHEADER_LAYOUT=header_layout_$(subst -,_,$*) -c -o $@ $<

$(BUILD)/bin/abi-check-bad: $(ABI_CHECK_BAD_OBJS) $(ABI_CHECK_WRONG_OBJS) \
  $(ABI_CHECK_OBJS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SAN) -o $@ $^ $(ABI_CHECK_LDLIBS) -ldl

.PHONY: abi-check-bad
abi-check-bad: $(BUILD)/bin/abi-check-bad $(ABI_CHECK_BAD)/made \
  $(BUILD)/lib/libgusset.so $(BUILD)/lib/libgusset.a
	$(Q)$< $(ABI_CHECK_BAD)
CHECK_TARGETS += abi-check-bad

# ---- generated lists ----

# Do the committed lists match the libraries of this machine? Differs by
# design where glibc, musl or a compiler have another version.
.PHONY: abi-check-names
abi-check-names:
	@mkdir -p $(BUILD)/abi_check
	$(Q)NM='$(NM)' abi_check/libc-names.sh libc \
	  > $(BUILD)/abi_check/libc-names
	$(Q)diff abi_check/libc-names $(BUILD)/abi_check/libc-names
	$(Q)NM='$(NM)' abi_check/libc-names.sh compiler \
	  > $(BUILD)/abi_check/compiler-names
	$(Q)diff abi_check/compiler-names $(BUILD)/abi_check/compiler-names
	@echo 'abi_check/libc-names and compiler-names match this machine'
