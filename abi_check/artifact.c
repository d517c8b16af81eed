/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. libelf accepts a good deal of damage in silence (a member cut
 * short, a section table past the end of the file), so the extent of archive
 * members and sections is checked here before any symbol is believed.
 */
#define _GNU_SOURCE
#include "abi_check/artifact.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AR_HEADER_BYTES 60
#define VERSION_HIDDEN 0x8000 /* of .gnu.version: found only by its version */

struct reader {
    struct artifact *artifact;
    const char *path;
    char *error;
    size_t error_size;
    GElf_Half machine;  /* of this program */
    unsigned char data; /* its byte order, ELFDATA2... */
};

static bool refuse(struct reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool
refuse(struct reader *reader, const char *format, ...)
{
    char words[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    snprintf(reader->error, reader->error_size, "%s: %s", reader->path, words);
    return false;
}

static const char *
machine_name(unsigned machine)
{
    switch (machine) {
    case EM_386:
        return "i386";
    case EM_X86_64:
        return "x86-64";
    case EM_AARCH64:
        return "AArch64";
    case EM_ARM:
        return "ARM";
    case EM_RISCV:
        return "RISC-V";
    case EM_S390:
        return "s390";
    case EM_PPC64:
        return "PowerPC64";
    default:
        return "another machine";
    }
}

/* The machine this program was built for is the one it is able to load. */
static bool
read_own_machine(struct reader *reader)
{
    unsigned char start[20];
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, start, sizeof start);
    if (fd >= 0)
        close(fd);
    if (n != (ssize_t)sizeof start)
        return refuse(reader, "cannot read /proc/self/exe: %s",
                      strerror(errno));
    reader->data = start[EI_DATA];
    reader->machine = start[EI_DATA] == ELFDATA2LSB
                          ? (GElf_Half)(start[18] | start[19] << 8)
                          : (GElf_Half)(start[18] << 8 | start[19]);
    return true;
}

static bool
add_symbol(struct reader *reader, const char *name, const char *object,
           const GElf_Sym *sym, GElf_Versym version)
{
    struct artifact *to = reader->artifact;
    if ((to->count & (to->count + 1)) == 0) {
        size_t room = 2 * to->count + 1;
        struct symbol *grown = realloc(to->symbols, room * sizeof *grown);
        if (grown == NULL)
            return refuse(reader, "out of memory");
        to->symbols = grown;
    }
    struct symbol *added = &to->symbols[to->count];
    added->name = strdup(name);
    added->object = strdup(object);
    added->type = GELF_ST_TYPE(sym->st_info);
    added->binding = GELF_ST_BIND(sym->st_info);
    added->visibility = GELF_ST_VISIBILITY(sym->st_other);
    added->old_version = (version & VERSION_HIDDEN) != 0;
    added->version_node =
        to->kind == ARTIFACT_SHARED && sym->st_shndx == SHN_ABS;
    to->count++;
    if (added->name == NULL || added->object == NULL)
        return refuse(reader, "out of memory");
    return true;
}

static bool
check_machine(struct reader *reader, const char *object,
              const GElf_Ehdr *header)
{
    if (header->e_ident[EI_CLASS] != ELFCLASS64)
        return refuse(reader,
                      "%s is a 32-bit ELF file; ABI version 2 is for LP64 only",
                      object);
    if (header->e_machine != reader->machine ||
        header->e_ident[EI_DATA] != reader->data)
        return refuse(reader, "%s is for %s (ELF machine %u), not for %s",
                      object, machine_name(header->e_machine),
                      (unsigned)header->e_machine,
                      machine_name(reader->machine));
    return true;
}

/* Every section lies inside the image, or the file was cut short. */
static bool
check_extent(struct reader *reader, const char *object, Elf *elf,
             const GElf_Ehdr *header)
{
    size_t bytes = 0;
    if (elf_rawfile(elf, &bytes) == NULL)
        return refuse(reader, "%s: %s", object, elf_errmsg(-1));
    if (header->e_shoff == 0)
        return refuse(reader, "%s has no section headers", object);
    if (header->e_shoff > bytes ||
        (uint64_t)header->e_shnum * header->e_shentsize >
            bytes - header->e_shoff)
        return refuse(reader,
                      "%s is truncated: its section headers end after "
                      "the file",
                      object);
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        GElf_Shdr head;
        if (gelf_getshdr(section, &head) == NULL)
            return refuse(reader, "%s: %s", object, elf_errmsg(-1));
        if (head.sh_type != SHT_NOBITS && head.sh_type != SHT_NULL &&
            (head.sh_offset > bytes || head.sh_size > bytes - head.sh_offset))
            return refuse(reader,
                          "%s is truncated: section %zu ends after "
                          "the file",
                          object, elf_ndxscn(section));
    }
    return true;
}

static Elf_Scn *
find_section(Elf *elf, GElf_Word type, GElf_Shdr *head)
{
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section)) != NULL)
        if (gelf_getshdr(section, head) != NULL && head->sh_type == type)
            return section;
    return NULL;
}

/* Adds the defined symbols of one ELF image that are not local. */
static bool
read_symbols(struct reader *reader, const char *object, Elf *elf,
             GElf_Word table_type)
{
    GElf_Shdr head, version_head;
    Elf_Scn *section = find_section(elf, table_type, &head);
    if (section == NULL)
        return table_type == SHT_DYNSYM
                   ? refuse(reader, "%s has no dynamic symbol table", object)
                   : true;
    Elf_Data *data = elf_getdata(section, NULL);
    if (data == NULL || head.sh_entsize == 0)
        return refuse(reader, "%s: unreadable symbol table", object);
    Elf_Scn *versions = table_type == SHT_DYNSYM
                            ? find_section(elf, SHT_GNU_versym, &version_head)
                            : NULL;
    Elf_Data *version_data =
        versions == NULL ? NULL : elf_getdata(versions, NULL);
    size_t entries = head.sh_size / head.sh_entsize;
    for (size_t i = 1; i < entries; i++) {
        GElf_Sym sym;
        if (gelf_getsym(data, (int)i, &sym) == NULL)
            return refuse(reader, "%s: symbol %zu: %s", object, i,
                          elf_errmsg(-1));
        const char *name = elf_strptr(elf, head.sh_link, sym.st_name);
        if (name == NULL)
            return refuse(reader, "%s: symbol %zu has no name: %s", object, i,
                          elf_errmsg(-1));
        if (strcmp(name, "__gnu_lto_slim") == 0)
            return refuse(reader,
                          "%s is a slim LTO object: compiler bitcode, "
                          "no machine code",
                          object);
        if (sym.st_shndx == SHN_UNDEF ||
            GELF_ST_BIND(sym.st_info) == STB_LOCAL || name[0] == '\0')
            continue;
        GElf_Versym version = 0;
        if (version_data != NULL)
            gelf_getversym(version_data, (int)i, &version);
        if (!add_symbol(reader, name, object, &sym, version))
            return false;
    }
    return true;
}

static bool
read_object(struct reader *reader, const char *object, Elf *elf,
            GElf_Half wanted)
{
    size_t bytes = 0;
    const char *image = elf_rawfile(elf, &bytes);
    if (image != NULL && bytes >= 4 && memcmp(image, "BC\xC0\xDE", 4) == 0)
        return refuse(reader, "%s is LLVM bitcode (LTO), no machine code",
                      object);
    GElf_Ehdr header;
    if (elf_kind(elf) != ELF_K_ELF || gelf_getehdr(elf, &header) == NULL)
        return refuse(reader, "%s is not an ELF object", object);
    if (!check_machine(reader, object, &header))
        return false;
    if (header.e_type != wanted)
        return refuse(reader,
                      "%s is ELF type %u, neither a shared object nor "
                      "an archive of objects",
                      object, (unsigned)header.e_type);
    if (!check_extent(reader, object, elf, &header))
        return false;
    reader->artifact->objects++;
    return read_symbols(reader, object, elf,
                        wanted == ET_DYN ? SHT_DYNSYM : SHT_SYMTAB);
}

/* Walks the member headers: the last member must end where the file does. */
static bool
check_archive_extent(struct reader *reader, int fd, uint64_t bytes)
{
    uint64_t at = 8;
    while (at < bytes) {
        char header[AR_HEADER_BYTES + 1] = {0};
        if (pread(fd, header, AR_HEADER_BYTES, (off_t)at) != AR_HEADER_BYTES ||
            memcmp(header + 58, "`\n", 2) != 0)
            return refuse(reader,
                          "truncated or damaged archive: no member header at "
                          "byte %llu",
                          (unsigned long long)at);
        header[58] = '\0';
        char *end = NULL;
        uint64_t size = strtoull(header + 48, &end, 10);
        if (end == header + 48 || size > bytes - at - AR_HEADER_BYTES)
            return refuse(reader,
                          "truncated archive: the member at byte %llu ends "
                          "after the file",
                          (unsigned long long)at);
        at += AR_HEADER_BYTES + size + (size & 1);
    }
    return true;
}

static bool
read_archive(struct reader *reader, int fd, Elf *archive)
{
    Elf_Cmd command = ELF_C_READ_MMAP;
    Elf *member;
    bool good = true;
    while (good && (member = elf_begin(fd, command, archive)) != NULL) {
        Elf_Arhdr *header = elf_getarhdr(member);
        if (header == NULL)
            good = refuse(reader, "unreadable member: %s", elf_errmsg(-1));
        else if (header->ar_name != NULL && header->ar_name[0] != '/')
            good = read_object(reader, header->ar_name, member, ET_REL);
        command = elf_next(member);
        elf_end(member);
    }
    if (good && reader->artifact->objects == 0)
        return refuse(reader, "the archive has no members");
    return good;
}

static bool
read_opened(struct reader *reader, int fd)
{
    struct stat st;
    char magic[9] = {0};
    if (fstat(fd, &st) != 0)
        return refuse(reader, "%s", strerror(errno));
    if (S_ISDIR(st.st_mode))
        return refuse(reader, "is a directory");
    if (!S_ISREG(st.st_mode))
        return refuse(reader, "is not a regular file");
    if (st.st_size == 0)
        return refuse(reader, "the file is empty");
    if (pread(fd, magic, 8, 0) < 0)
        return refuse(reader, "%s", strerror(errno));
    if (strcmp(magic, "!<thin>\n") == 0)
        return refuse(reader, "is a thin archive: it holds no code itself");
    bool archive = strcmp(magic, "!<arch>\n") == 0;
    if (!archive && memcmp(magic, ELFMAG, SELFMAG) != 0)
        return refuse(reader, "is neither an ELF shared object nor an archive");
    if (archive && !check_archive_extent(reader, fd, (uint64_t)st.st_size))
        return false;
    reader->artifact->kind = archive ? ARTIFACT_ARCHIVE : ARTIFACT_SHARED;

    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf == NULL)
        return refuse(reader, "unreadable: %s", elf_errmsg(-1));
    const char *base = strrchr(reader->path, '/');
    bool good =
        archive ? read_archive(reader, fd, elf)
                : read_object(reader, base == NULL ? reader->path : base + 1,
                              elf, ET_DYN);
    elf_end(elf);
    if (good && reader->artifact->count == 0)
        return refuse(reader, "defines no global symbol");
    return good;
}

bool
artifact_read(const char *path, struct artifact *artifact, char *error,
              size_t error_size)
{
    struct reader reader = {.artifact = artifact,
                            .path = path,
                            .error = error,
                            .error_size = error_size};
    memset(artifact, 0, sizeof *artifact);
    if (elf_version(EV_CURRENT) == EV_NONE)
        return refuse(&reader, "libelf: %s", elf_errmsg(-1));
    if (!read_own_machine(&reader))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return refuse(&reader, "%s", strerror(errno));
    bool good = read_opened(&reader, fd);
    close(fd);
    if (!good)
        artifact_free(artifact);
    return good;
}

void
artifact_free(struct artifact *artifact)
{
    for (size_t i = 0; i < artifact->count; i++) {
        free(artifact->symbols[i].name);
        free(artifact->symbols[i].object);
    }
    free(artifact->symbols);
    memset(artifact, 0, sizeof *artifact);
}

bool
symbol_is_visible(const struct symbol *symbol)
{
    return symbol->visibility == STV_DEFAULT ||
           symbol->visibility == STV_PROTECTED;
}

const char *
symbol_type_name(unsigned type)
{
    switch (type) {
    case STT_NOTYPE:
        return "NOTYPE";
    case STT_OBJECT:
        return "OBJECT";
    case STT_FUNC:
        return "FUNC";
    case STT_COMMON:
        return "COMMON";
    case STT_TLS:
        return "TLS";
    case STT_GNU_IFUNC:
        return "IFUNC";
    default:
        return "of unknown type";
    }
}

const char *
symbol_binding_name(unsigned binding)
{
    switch (binding) {
    case STB_GLOBAL:
        return "GLOBAL";
    case STB_WEAK:
        return "WEAK";
    case STB_GNU_UNIQUE:
        return "UNIQUE";
    default:
        return "of unknown binding";
    }
}

const char *
symbol_visibility_name(unsigned visibility)
{
    switch (visibility) {
    case STV_DEFAULT:
        return "DEFAULT";
    case STV_INTERNAL:
        return "INTERNAL";
    case STV_HIDDEN:
        return "HIDDEN";
    case STV_PROTECTED:
        return "PROTECTED";
    default:
        return "of unknown visibility";
    }
}
