/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The image that runs is the file that is judged [a.same-file]. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "conform.h"

struct image {
    uintptr_t address; /* of a function of the subject */
    ElfW(Addr) base;
    const ElfW(Phdr) * headers;
    uint16_t count;
    bool program; /* it is no library, the archive was linked into it */
};

static int
visit(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct image *image = argument;
    (void)size;
    for (uint16_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = (uintptr_t)(info->dlpi_addr + header->p_vaddr);
        if (header->p_type != PT_LOAD || image->address < start ||
            image->address - start >= header->p_memsz) {
            continue;
        }
        image->base = info->dlpi_addr;
        image->headers = info->dlpi_phdr;
        image->count = info->dlpi_phnum;
        image->program = info->dlpi_name == NULL || info->dlpi_name[0] == '\0';
        return 1;
    }
    return 0;
}

/* Relocated text cannot be what is in the file; a.hardened speaks of it. */
static bool
has_text_relocations(const struct image *image)
{
    for (uint16_t i = 0; i < image->count; i++) {
        if (image->headers[i].p_type != PT_DYNAMIC) {
            continue;
        }
        const ElfW(Dyn) *at =
            (const ElfW(Dyn) *)(image->base + image->headers[i].p_vaddr);
        for (; at->d_tag != DT_NULL; at++) {
            if (at->d_tag == DT_TEXTREL ||
                (at->d_tag == DT_FLAGS && (at->d_un.d_val & DF_TEXTREL) != 0)) {
                return true;
            }
        }
    }
    return false;
}

static uint64_t
compare_segment(int fd, const struct image *image, const ElfW(Phdr) * header)
{
    static uint8_t block[65536];
    const uint8_t *mapped = (const uint8_t *)(image->base + header->p_vaddr);
    uint64_t at = 0;
    while (at < header->p_filesz) {
        uint64_t left = header->p_filesz - at;
        size_t want = left < sizeof block ? (size_t)left : sizeof block;
        ssize_t got = pread(fd, block, want, (off_t)(header->p_offset + at));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        expect(got > 0, "the file is as long as its image says");
        for (ssize_t i = 0; i < got; i++) {
            if (block[i] != mapped[at + (uint64_t)i]) {
                expect_u64(
                    block[i], mapped[at + (uint64_t)i],
                    "the mapped image at byte %llu of the file",
                    (unsigned long long)(header->p_offset + at + (uint64_t)i));
            }
        }
        at += (uint64_t)got;
    }
    return at;
}

CONFORM_CASE(unchanged, .id = "a.same-file.unchanged", .clauses = "a.same-file",
             .why = "A certificate for one file says nothing of another that "
                    "ran in its place.",
             .steps = "Find the image in which the functions lie; compare all "
                      "of it that nobody may write with the file, byte for "
                      "byte. Run last: the supervisor adds the file's SHA-256 "
                      "and identity before and after, the build ids of all "
                      "images of the run, and the linked program.",
             .expected = "No difference; one file, one image.",
             .mutant = "image-patched-at-load")
{
    struct image image = {.address = (uintptr_t)api_raw.abi_layout};
    uint64_t compared = 0;
    expect(dl_iterate_phdr(visit, &image) == 1,
           "the functions lie in a file that the loader knows");
    if (has_text_relocations(&image)) {
        conform_out_of_reach("its text is relocated, the image differs from "
                             "the file");
    }
    const char *path = image.program ? "/proc/self/exe" : conform_impl_path();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    expect(fd >= 0, "%s can be read", path);
    for (uint16_t i = 0; i < image.count; i++) {
        const ElfW(Phdr) *header = &image.headers[i];
        if (header->p_type == PT_LOAD && (header->p_flags & PF_W) == 0) {
            compared += compare_segment(fd, &image, header);
        }
    }
    close(fd);
    expect_u64_at_least(1, compared, "bytes compared");
    conform_evidence("image bytes compared", "%llu",
                     (unsigned long long)compared);
}
