# SPDX-License-Identifier: MIT OR Apache-2.0
# The reference runtime: libgusset.a, libgusset.so, install and uninstall.

GUSSET_VERSION := 0.1.0
GUSSET_SONAME := libgusset.so.2

RUNTIME_SRC := $(sort $(wildcard runtime/src/*.c))
RUNTIME_OBJ := $(RUNTIME_SRC:%.c=$(BUILD)/obj/%.o)
RUNTIME_A := $(BUILD)/lib/libgusset.a
RUNTIME_SO := $(BUILD)/lib/libgusset.so
RUNTIME_SO_REAL := $(BUILD)/lib/$(GUSSET_SONAME)
RUNTIME_PC := $(BUILD)/lib/gusset.pc
# What the runtime declares of itself, for who judges it.
RUNTIME_CLAIMS := $(BUILD)/lib/libgusset.claims.json

# clang has it for some machines only, and then warns.
RUNTIME_CLASH := $(shell $(CC) -Werror -fstack-clash-protection \
	-fsyntax-only -x c /dev/null 2>/dev/null && echo -fstack-clash-protection)

# Every object serves both libraries, so the archive too can go into a .so.
RUNTIME_CFLAGS = $(BASE_CFLAGS) -D_GNU_SOURCE -fPIC -fvisibility=hidden \
	$(RUNTIME_CLASH) -pthread

# A sanitizer's runtime stays undefined in a shared library.
RUNTIME_DEFS = $(if $(SAN),,-Wl$(comma)-z$(comma)defs)
comma := ,
RUNTIME_LDFLAGS = -shared -Wl,-soname,$(GUSSET_SONAME) \
	-Wl,--version-script=runtime/gusset.map -Wl,-Bsymbolic-functions \
	-Wl,-z,relro,-z,now,-z,noexecstack $(RUNTIME_DEFS) -Wl,--build-id \
	-pthread $(SAN)

ALL_TARGETS += $(RUNTIME_A) $(RUNTIME_SO) $(RUNTIME_PC) $(RUNTIME_CLAIMS)

# Asked once for each build folder, before anything else can go wrong.
RUNTIME_SUPPORTED := $(BUILD)/obj/runtime/supported
$(RUNTIME_SUPPORTED): runtime/src/supported.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(OPT) $(SAN) -E $< > $@

$(RUNTIME_OBJ): $(BUILD)/obj/%.o: %.c runtime/build.mk Makefile \
		| $(RUNTIME_SUPPORTED)
	@mkdir -p $(@D)
	$(Q)$(CC) $(RUNTIME_CFLAGS) $(DEPFLAGS) -c -o $@ $<

$(RUNTIME_A): $(RUNTIME_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(RUNTIME_SO_REAL): $(RUNTIME_OBJ) runtime/gusset.map
	@mkdir -p $(@D)
	$(Q)$(CC) $(RUNTIME_LDFLAGS) -o $@ $(RUNTIME_OBJ)

$(RUNTIME_SO): $(RUNTIME_SO_REAL)
	$(Q)ln -sf $(GUSSET_SONAME) $@

# PREFIX: /usr/local for whoever may write there, else the user's own tree.
ifeq ($(origin PREFIX),undefined)
PREFIX := $(shell test -w /usr/local && echo /usr/local || echo $(HOME)/.local)
endif
DESTDIR ?=

RUNTIME_PC_TEXT = sed -e 's|@PREFIX@|$(PREFIX)|' \
	-e 's|@VERSION@|$(GUSSET_VERSION)|' runtime/gusset.pc.in

$(RUNTIME_PC): runtime/gusset.pc.in runtime/build.mk
	@mkdir -p $(@D)
	$(Q)$(RUNTIME_PC_TEXT) > $@

$(RUNTIME_CLAIMS): runtime/claims.json
	@mkdir -p $(@D)
	$(Q)cp $< $@

RUNTIME_HEADERS := runtime/include/gusset.h runtime/include/gusset_engine.h
RUNTIME_INSTALLED = \
	$(RUNTIME_HEADERS:runtime/include/%=$(DESTDIR)$(PREFIX)/include/%) \
	$(DESTDIR)$(PREFIX)/lib/libgusset.a \
	$(DESTDIR)$(PREFIX)/lib/libgusset.so \
	$(DESTDIR)$(PREFIX)/lib/$(GUSSET_SONAME) \
	$(DESTDIR)$(PREFIX)/lib/libgusset.claims.json \
	$(DESTDIR)$(PREFIX)/lib/pkgconfig/gusset.pc

.PHONY: runtime install uninstall
runtime: $(RUNTIME_A) $(RUNTIME_SO) $(RUNTIME_PC) $(RUNTIME_CLAIMS)

install: runtime
	$(Q)install -d $(DESTDIR)$(PREFIX)/include \
		$(DESTDIR)$(PREFIX)/lib/pkgconfig
	$(Q)install -m 644 $(RUNTIME_HEADERS) $(DESTDIR)$(PREFIX)/include
	$(Q)install -m 644 $(RUNTIME_A) $(RUNTIME_CLAIMS) $(DESTDIR)$(PREFIX)/lib
	$(Q)install -m 755 $(RUNTIME_SO_REAL) $(DESTDIR)$(PREFIX)/lib
	$(Q)ln -sf $(GUSSET_SONAME) $(DESTDIR)$(PREFIX)/lib/libgusset.so
	$(Q)$(RUNTIME_PC_TEXT) > $(DESTDIR)$(PREFIX)/lib/pkgconfig/gusset.pc
	@printf 'installed %s\n' $(RUNTIME_INSTALLED)

uninstall:
	$(Q)rm -f $(RUNTIME_INSTALLED)
	@printf 'removed %s\n' $(RUNTIME_INSTALLED)

-include $(RUNTIME_OBJ:.o=.d)

include runtime/tests/tests.mk
