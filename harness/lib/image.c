/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which file's code really runs: asked of the loader, not of the path. */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <string.h>

#include "internal.h"

#define MOST_ID_BYTES 64

struct search {
    uintptr_t address; /* of a function of the subject */
    char id[2 * MOST_ID_BYTES + 1];
    bool found;
};

static bool
contains(const struct dl_phdr_info *info, uintptr_t address)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = (uintptr_t)(info->dlpi_addr + header->p_vaddr);
        if (header->p_type == PT_LOAD && address >= start &&
            address - start < header->p_memsz) {
            return true;
        }
    }
    return false;
}

static void
write_hex(char *text, const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
}

static size_t
padded(size_t len)
{
    return (len + 3) / 4 * 4;
}

/* One PT_NOTE segment: notes one after the other. */
static void
read_notes(struct search *search, const uint8_t *at, size_t left)
{
    ElfW(Nhdr) note;
    while (left >= sizeof note) {
        memcpy(&note, at, sizeof note);
        size_t name = padded(note.n_namesz);
        size_t size = sizeof note + name + padded(note.n_descsz);
        if (size > left) {
            return;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(at + sizeof note, "GNU", 4) == 0 &&
            note.n_descsz <= MOST_ID_BYTES) {
            write_hex(search->id, at + sizeof note + name, note.n_descsz);
            return;
        }
        at += size;
        left -= size;
    }
}

static int
visit(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct search *search = argument;
    (void)size;
    if (!contains(info, search->address)) {
        return 0;
    }
    search->found = true;
    for (size_t i = 0; i < info->dlpi_phnum && search->id[0] == '\0'; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_NOTE) {
            read_notes(search,
                       (const uint8_t *)(info->dlpi_addr + header->p_vaddr),
                       header->p_memsz);
        }
    }
    return 1;
}

void
conform_image_evidence(void)
{
    if (!conform_subject_present()) {
        return;
    }
    struct search search = {.address = (uintptr_t)api.abi_layout};
    dl_iterate_phdr(visit, &search);
    conform_evidence("build-id", "%s",
                     search.id[0] != '\0' ? search.id
                     : search.found       ? "none"
                                          : "image not found");
}
