/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "image.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "real.h"

struct search {
    uintptr_t address;
    char *hex;
    size_t cap;
};

uintptr_t
image_address(void)
{
    return (uintptr_t)__real_gusset_abi_layout;
}

static int
holds(const struct dl_phdr_info *info, uintptr_t address)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = (uintptr_t)(info->dlpi_addr + header->p_vaddr);
        if (header->p_type == PT_LOAD && address >= start &&
            address - start < header->p_memsz)
            return 1;
    }
    return 0;
}

static size_t
padded(size_t len)
{
    return (len + 3) / 4 * 4;
}

/* Looks through the notes of one segment, one after the other. */
static void
read_notes(struct search *search, const uint8_t *at, size_t left)
{
    ElfW(Nhdr) note;
    while (left >= sizeof note) {
        memcpy(&note, at, sizeof note);
        size_t name = padded(note.n_namesz);
        size_t size = sizeof note + name + padded(note.n_descsz);
        if (size > left)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(at + sizeof note, "GNU", 4) == 0) {
            const uint8_t *id = at + sizeof note + name;
            for (size_t i = 0; i < note.n_descsz; i++) {
                if (2 * i + 3 <= search->cap)
                    snprintf(search->hex + 2 * i, 3, "%02x", id[i]);
            }
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
    if (!holds(info, search->address))
        return 0;
    snprintf(search->hex, search->cap, "none");
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_NOTE)
            read_notes(search,
                       (const uint8_t *)(info->dlpi_addr + header->p_vaddr),
                       header->p_memsz);
    }
    return 1;
}

int
image_build_id(uintptr_t address, char *hex, size_t cap)
{
    struct search search = {address, hex, cap};
    return dl_iterate_phdr(visit, &search);
}
