/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "abi_check/hardened.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the dynamic section of a shared object says. */
struct dynamic {
    Elf *elf;
    size_t strings; /* the section of its texts */
    uint64_t flags, flags_1;
    bool present, textrel, bind_now, lazy_calls;
};

struct file {
    int fd;
    Elf *elf;
};

static bool
file_open(struct file *file, const char *path, struct findings *found)
{
    *file = (struct file){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (elf_version(EV_CURRENT) != EV_NONE && file->fd >= 0)
        file->elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
    if (file->elf != NULL)
        return true;
    findings_fault(found, "%s: unreadable: %s", path, elf_errmsg(-1));
    if (file->fd >= 0)
        close(file->fd);
    return false;
}

static void
file_close(struct file *file)
{
    elf_end(file->elf);
    close(file->fd);
}

/* The first section of a type; NULL: there is none. */
static Elf_Data *
section_data(Elf *elf, GElf_Word type, GElf_Shdr *head)
{
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section)) != NULL)
        if (gelf_getshdr(section, head) != NULL && head->sh_type == type)
            return elf_getdata(section, NULL);
    return NULL;
}

typedef void (*entry_seen)(void *context, const struct dynamic *dynamic,
                           const GElf_Dyn *entry);

/* Reads the dynamic section and shows each entry to `seen`, if there is one. */
static void
read_dynamic(Elf *elf, struct dynamic *dynamic, entry_seen seen, void *context)
{
    GElf_Shdr head;
    Elf_Data *data = section_data(elf, SHT_DYNAMIC, &head);
    *dynamic = (struct dynamic){.elf = elf, .present = data != NULL};
    if (data == NULL || head.sh_entsize == 0)
        return;
    dynamic->strings = head.sh_link;
    for (size_t i = 0; i < head.sh_size / head.sh_entsize; i++) {
        GElf_Dyn entry;
        if (gelf_getdyn(data, (int)i, &entry) == NULL || entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_FLAGS)
            dynamic->flags = entry.d_un.d_val;
        else if (entry.d_tag == DT_FLAGS_1)
            dynamic->flags_1 = entry.d_un.d_val;
        dynamic->textrel |= entry.d_tag == DT_TEXTREL;
        dynamic->bind_now |= entry.d_tag == DT_BIND_NOW;
        dynamic->lazy_calls |= entry.d_tag == DT_JMPREL;
        if (seen != NULL)
            seen(context, dynamic, &entry);
    }
}

static void
check_segments(Elf *elf, struct findings *found, bool *relro)
{
    size_t count = 0;
    bool stack = false;
    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr head;
        if (gelf_getphdr(elf, (int)i, &head) == NULL)
            continue;
        *relro |= head.p_type == PT_GNU_RELRO;
        if (head.p_type != PT_GNU_STACK)
            continue;
        stack = true;
        if ((head.p_flags & PF_X) != 0)
            findings_fault(found, "executable stack: PT_GNU_STACK has PF_X; "
                                  "loading it makes all stacks executable");
    }
    found->judged++;
    if (!stack)
        findings_fault(found, "executable stack: there is no PT_GNU_STACK, "
                              "which asks for one");
}

static void
check_shared(Elf *elf, struct findings *found)
{
    struct dynamic dynamic;
    bool relro = false;
    check_segments(elf, found, &relro);
    read_dynamic(elf, &dynamic, NULL, NULL);
    if (!dynamic.present) {
        findings_fault(found, "there is no dynamic section");
        return;
    }
    bool now = dynamic.bind_now || (dynamic.flags & DF_BIND_NOW) != 0 ||
               (dynamic.flags_1 & DF_1_NOW) != 0;
    found->judged += 3;
    if (!relro)
        findings_fault(found, "no full RELRO: there is no PT_GNU_RELRO");
    else if (!now && dynamic.lazy_calls)
        findings_fault(found, "no full RELRO: calls are bound lazily (neither "
                              "DF_BIND_NOW nor DF_1_NOW)");
    if (dynamic.textrel || (dynamic.flags & DF_TEXTREL) != 0)
        findings_fault(found, "text relocations: DT_TEXTREL or DF_TEXTREL is "
                              "set");
    if ((dynamic.flags & DF_STATIC_TLS) != 0)
        findings_fault(found, "static TLS: DF_STATIC_TLS is set; dlopen may "
                              "find no room for it");
}

/* -1: no such note; 0: not executable; 1: executable. */
static int
stack_note(Elf *elf)
{
    size_t names = 0;
    Elf_Scn *section = NULL;
    elf_getshdrstrndx(elf, &names);
    while ((section = elf_nextscn(elf, section)) != NULL) {
        GElf_Shdr head;
        if (gelf_getshdr(section, &head) == NULL)
            continue;
        const char *name = elf_strptr(elf, names, head.sh_name);
        if (name != NULL && strcmp(name, ".note.GNU-stack") == 0)
            return (head.sh_flags & SHF_EXECINSTR) != 0;
    }
    return -1;
}

static void
check_object(Elf *elf, const char *name, struct findings *found)
{
    GElf_Ehdr header;
    if (gelf_getehdr(elf, &header) == NULL)
        return;
    int note = stack_note(elf);
    bool assumed = header.e_machine == EM_X86_64 || header.e_machine == EM_386;
    found->judged++;
    if (note == 1)
        findings_fault(found,
                       "executable stack: the .note.GNU-stack of %s "
                       "asks for one",
                       name);
    else if (note < 0 && assumed)
        findings_fault(found,
                       "executable stack: %s has no .note.GNU-stack, "
                       "so the link editor makes one",
                       name);
    else if (note < 0)
        findings_note(found, "%s has no .note.GNU-stack", name);
}

static void
check_archive(int fd, Elf *archive, struct findings *found)
{
    Elf_Cmd command = ELF_C_READ_MMAP;
    Elf *member;
    while ((member = elf_begin(fd, command, archive)) != NULL) {
        Elf_Arhdr *header = elf_getarhdr(member);
        if (header != NULL && header->ar_name != NULL &&
            header->ar_name[0] != '/')
            check_object(member, header->ar_name, found);
        command = elf_next(member);
        elf_end(member);
    }
    findings_note(found, "not applicable to an archive, whoever links it "
                         "decides: RELRO, text relocations, static TLS, "
                         "NEEDED, symbol versions");
}

void
hardened_check_flags(const char *path, enum artifact_kind kind,
                     struct findings *found)
{
    struct file file;
    if (!file_open(&file, path, found))
        return;
    if (kind == ARTIFACT_ARCHIVE)
        check_archive(file.fd, file.elf, found);
    else
        check_shared(file.elf, found);
    file_close(&file);
}

/* Opens a shared object; an archive ends the check. */
static bool
open_shared(struct file *file, const char *path, enum artifact_kind kind,
            const char *what, struct findings *found)
{
    if (kind == ARTIFACT_SHARED)
        return file_open(file, path, found);
    findings_skip(found, "not applicable to an archive: it has no %s", what);
    return false;
}

struct needed {
    const char *const *declared;
    size_t count;
    bool *seen;
    struct findings *found;
};

static void
judge_needed(void *context, const struct dynamic *dynamic,
             const GElf_Dyn *entry)
{
    struct needed *needed = context;
    if (entry->d_tag != DT_NEEDED)
        return;
    const char *name =
        elf_strptr(dynamic->elf, dynamic->strings, entry->d_un.d_val);
    needed->found->judged++;
    for (size_t i = 0; name != NULL && i < needed->count; i++)
        if (strcmp(needed->declared[i], name) == 0) {
            needed->seen[i] = true;
            return;
        }
    findings_fault(needed->found, "NEEDED %s is not declared",
                   name == NULL ? "(unreadable)" : name);
}

void
hardened_check_needed(const char *path, enum artifact_kind kind,
                      const char *const *declared, size_t count,
                      struct findings *found)
{
    struct file file;
    struct dynamic dynamic;
    if (!open_shared(&file, path, kind, "NEEDED entries", found))
        return;
    struct needed needed = {declared, count, calloc(count + 1, sizeof(bool)),
                            found};
    if (needed.seen == NULL)
        findings_broken(found, "out of memory");
    else
        read_dynamic(file.elf, &dynamic, judge_needed, &needed);
    /* That it needs nothing has been compared as well. */
    found->judged++;
    for (size_t i = 0; needed.seen != NULL && i < count; i++)
        if (!needed.seen[i])
            findings_note(found, "declared, but not needed: %s", declared[i]);
    free(needed.seen);
    file_close(&file);
}

/* "2.2.5" against "2.34": as sequences of numbers. */
static int
compare_versions(const char *left, const char *right)
{
    while (*left != '\0' || *right != '\0') {
        char *left_end, *right_end;
        unsigned long a = strtoul(left, &left_end, 10);
        unsigned long b = strtoul(right, &right_end, 10);
        if (a != b)
            return a < b ? -1 : 1;
        left = left_end + (*left_end == '.');
        right = right_end + (*right_end == '.');
        if (left == left_end && right == right_end)
            break;
    }
    return 0;
}

static bool
is_version(const char *text)
{
    return text[0] >= '0' && text[0] <= '9' &&
           text[strspn(text, "0123456789.")] == '\0';
}

static void
judge_version(const char *library, const char *needed,
              const struct version_ceiling *declared, size_t count,
              struct findings *found)
{
    const char *cut = strrchr(needed, '_');
    if (strncmp(needed, "GLIBC_ABI_", 10) == 0) {
        findings_note(found, "%s of %s names no symbol", needed, library);
        return;
    }
    found->judged++;
    if (cut == NULL || !is_version(cut + 1)) {
        findings_fault(found, "symbol version %s of %s is no public one",
                       needed, library);
        return;
    }
    size_t len = (size_t)(cut - needed);
    for (size_t i = 0; i < count; i++) {
        if (strlen(declared[i].name) != len ||
            strncmp(declared[i].name, needed, len) != 0)
            continue;
        if (compare_versions(cut + 1, declared[i].version) > 0)
            findings_fault(found,
                           "symbol version %s of %s is above the declared "
                           "ceiling %s %s",
                           needed, library, declared[i].name,
                           declared[i].version);
        return;
    }
    findings_fault(found, "symbol version %s of %s has no declared ceiling",
                   needed, library);
}

void
hardened_check_versions(const char *path, enum artifact_kind kind,
                        const struct version_ceiling *declared, size_t count,
                        struct findings *found)
{
    struct file file;
    GElf_Shdr head;
    if (!open_shared(&file, path, kind, "symbol versions", found))
        return;
    Elf_Data *data = section_data(file.elf, SHT_GNU_verneed, &head);
    int at = 0;
    found->judged++;
    for (size_t i = 0; data != NULL && i < head.sh_info; i++) {
        GElf_Verneed need;
        if (gelf_getverneed(data, at, &need) == NULL)
            break;
        const char *library = elf_strptr(file.elf, head.sh_link, need.vn_file);
        int inner = at + (int)need.vn_aux;
        for (unsigned j = 0; j < need.vn_cnt; j++) {
            GElf_Vernaux version;
            if (gelf_getvernaux(data, inner, &version) == NULL)
                break;
            const char *name =
                elf_strptr(file.elf, head.sh_link, version.vna_name);
            judge_version(library == NULL ? "?" : library,
                          name == NULL ? "?" : name, declared, count, found);
            inner += (int)version.vna_next;
        }
        at += (int)need.vn_next;
    }
    file_close(&file);
}

struct soname {
    char *name;
    size_t size;
    bool found;
};

static void
keep_soname(void *context, const struct dynamic *dynamic, const GElf_Dyn *entry)
{
    struct soname *soname = context;
    if (entry->d_tag != DT_SONAME)
        return;
    const char *name =
        elf_strptr(dynamic->elf, dynamic->strings, entry->d_un.d_val);
    if (name == NULL || name[0] == '\0' || strchr(name, '/') != NULL)
        return;
    snprintf(soname->name, soname->size, "%s", name);
    soname->found = true;
}

bool
hardened_soname(const char *path, char *name, size_t size)
{
    struct file file;
    struct dynamic dynamic;
    struct findings ignored = {0};
    struct soname soname = {name, size, false};
    if (file_open(&file, path, &ignored)) {
        read_dynamic(file.elf, &dynamic, keep_soname, &soname);
        file_close(&file);
    }
    findings_free(&ignored);
    return soname.found;
}
