# SPDX-License-Identifier: MIT OR Apache-2.0
# hosts/build.mk: the Go host. Without Go, what needs it says so.

GO ?= go
GO_PRESENT := $(shell command -v $(GO) 2>/dev/null)

# ---- package gusset ----

GO_LIB := $(BUILD)/golib
# -lgusset takes what lies in the one folder: a folder for each artifact.
$(GO_LIB)/a/libgusset.a: $(BUILD)/lib/libgusset.a
	$(Q)install -D -m 644 $< $@
$(GO_LIB)/so/libgusset.so: $(BUILD)/lib/libgusset.so
	$(Q)mkdir -p $(@D)
	$(Q)cp -P $(BUILD)/lib/libgusset.so* $(@D)/

GO_TEST_A = CGO_LDFLAGS='-L$(abspath $(GO_LIB))/a' hosts/gotest hosts/go -count=1
GO_TEST_SO = CGO_LDFLAGS='-L$(abspath $(GO_LIB))/so -Wl,-rpath,$(abspath $(GO_LIB))/so' \
  hosts/gotest hosts/go -count=1
.PHONY: go-check go-check-a go-check-so go-check-race go-check-cgocheck go-otel-check
go-check-a: $(GO_LIB)/a/libgusset.a
	$(Q)$(GO_TEST_A) -shuffle=on ./...
go-check-so: $(GO_LIB)/so/libgusset.so
	$(Q)GOGC=1 $(GO_TEST_SO) -shuffle=on ./...
go-check-race: $(GO_LIB)/so/libgusset.so
	$(Q)$(GO_TEST_SO) -race ./...
go-check-cgocheck: $(GO_LIB)/a/libgusset.a
	$(Q)GOEXPERIMENT=cgocheck2 $(GO_TEST_A) ./...
go-otel-check: $(GO_LIB)/a/libgusset.a
	$(Q)CGO_LDFLAGS='-L$(abspath $(GO_LIB))/a' hosts/gotest hosts/go/gussetotel -count=1 ./...
go-check: ## the Go package: .a, .so with GOGC=1, -race, cgocheck2
	$(Q)MAKE='$(MAKE)' scripts/check $(BUILD)/go-check go-check-a go-check-so \
	  go-check-race go-check-cgocheck go-otel-check

# ---- gussetvet ----

GUSSETVET := $(BUILD)/bin/gussetvet

.PHONY: gussetvet gussetvet-check
gussetvet: $(GUSSETVET) ## the vet tool for Go hosts
$(GUSSETVET): $(wildcard hosts/go/gussetvet/*.go hosts/go/gussetvet/cmd/*/*.go) \
  hosts/go/gussetvet/go.mod hosts/go/gussetvet/go.sum
	@mkdir -p $(@D)
	$(Q)$(GO) build -C hosts/go/gussetvet -trimpath -buildvcs=false \
	  -o $(abspath $@) ./cmd/gussetvet

gussetvet-check: ## the vet tool's tests, and the Go host under it
	$(Q)hosts/gotest hosts/go/gussetvet -count=1 ./...

# Its one dependency comes over the network, for which an installation of the
# library must not fail.
GUSSETVET_INSTALLED = $(DESTDIR)$(PREFIX)/bin/gussetvet
.PHONY: install-gussetvet uninstall-gussetvet
install-gussetvet:
	@mkdir -p $(BUILD)
	$(Q)if $(MAKE) --no-print-directory $(GUSSETVET) \
	    >$(BUILD)/gussetvet.log 2>&1; then \
	  install -d $(dir $(GUSSETVET_INSTALLED)) && \
	  install -m 755 $(GUSSETVET) $(GUSSETVET_INSTALLED) && \
	  echo 'installed $(GUSSETVET_INSTALLED)'; \
	else \
	  echo 'not installed: gussetvet, see $(BUILD)/gussetvet.log'; \
	fi
uninstall-gussetvet:
	$(Q)rm -f $(GUSSETVET_INSTALLED)
	@echo 'removed $(GUSSETVET_INSTALLED)'

ifneq ($(GO_PRESENT),)
CHECK_TARGETS += go-check gussetvet-check
install: install-gussetvet
endif
uninstall: uninstall-gussetvet
