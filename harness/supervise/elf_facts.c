/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "elf_facts.h"

#include <ar.h>
#include <gelf.h>
#include <libelf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THIN_MAGIC "!<thin>\n"
#define MAGIC_BYTES 8

static char *
machine_name(unsigned machine, unsigned class)
{
    static const struct {
        unsigned machine;
        const char *name;
    } known[] = {{EM_X86_64, "x86-64"},      {EM_386, "i386"},
                 {EM_AARCH64, "AArch64"},    {EM_ARM, "ARM"},
                 {EM_PPC64, "PowerPC64"},    {EM_S390, "S/390"},
                 {EM_RISCV, "RISC-V"},       {EM_MIPS, "MIPS"},
                 {EM_LOONGARCH, "LoongArch"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].machine == machine)
            return need_format("%s%s", known[i].name,
                               class == ELFCLASS32 ? " (32-bit)" : "");
    }
    return need_format("machine %u", machine);
}

/* The header of this very program says what it was built for. */
static const ElfW(Ehdr) * own_header(void)
{
    extern const ElfW(Ehdr) __ehdr_start;
    return &__ehdr_start;
}

const char *
elf_own_machine(void)
{
    static char *name;
    if (name == NULL)
        name = machine_name(own_header()->e_machine,
                            own_header()->e_ident[EI_CLASS]);
    return name;
}

static void
note_build_id(struct elf_facts *facts, Elf_Data *data)
{
    GElf_Nhdr note;
    size_t name = 0, desc = 0, at = 0;
    while ((at = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
        const char *bytes = data->d_buf;
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
            memcmp(bytes + name, "GNU", 4) != 0 || facts->build_id != NULL)
            continue;
        struct text hex = {0};
        for (size_t i = 0; i < note.n_descsz; i++)
            text_add(&hex, "%02x", (unsigned char)bytes[desc + i]);
        facts->build_id = text_take(&hex);
    }
}

/* Symbols of a table: exports, and hints at the libc. */
static void
read_symbols(struct elf_facts *facts, Elf *elf, Elf_Data *data,
             const GElf_Shdr *header, bool *lto_mark)
{
    size_t count =
        header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    for (size_t i = 1; i < count; i++) {
        GElf_Sym symbol;
        if (gelf_getsym(data, (int)i, &symbol) == NULL)
            continue;
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (name == NULL)
            continue;
        if (strcmp(name, "__gnu_lto_slim") == 0)
            *lto_mark = true;
        unsigned binding = GELF_ST_BIND(symbol.st_info);
        unsigned visibility = GELF_ST_VISIBILITY(symbol.st_other);
        if (symbol.st_shndx == SHN_UNDEF || binding == STB_LOCAL ||
            visibility == STV_HIDDEN || visibility == STV_INTERNAL)
            continue;
        if (strcmp(name, "gte_register") == 0)
            facts->test_engine = true;
        if (strncmp(name, "gusset_", 7) != 0)
            continue;
        struct text clean = {0};
        text_add_clean(&clean, name, strlen(name));
        if (!strings_have(&facts->exports, text_get(&clean)))
            strings_add(&facts->exports, text_get(&clean));
        text_free(&clean);
    }
}

static void
read_dynamic(struct elf_facts *facts, Elf *elf, Elf_Data *data,
             const GElf_Shdr *header)
{
    size_t count =
        header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Dyn entry;
        if (gelf_getdyn(data, (int)i, &entry) == NULL)
            continue;
        if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE))
            facts->program = true;
        if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_SONAME)
            continue;
        const char *name = elf_strptr(elf, header->sh_link, entry.d_un.d_val);
        if (entry.d_tag == DT_SONAME && facts->soname == NULL)
            facts->soname = need_copy(name ? name : "");
        else if (name != NULL && strcmp(name, "libc.so.6") == 0)
            facts->libc = "glibc";
        else if (name != NULL && (strcmp(name, "libc.so") == 0 ||
                                  strncmp(name, "libc.musl", 9) == 0))
            facts->libc = "musl";
    }
}

static bool
has_interpreter(Elf *elf)
{
    size_t count = 0;
    GElf_Phdr header;
    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count; i++) {
        if (gelf_getphdr(elf, (int)i, &header) != NULL &&
            header.p_type == PT_INTERP)
            return true;
    }
    return false;
}

/* Walks the sections: symbols of the kind, notes, dynamic entries. */
static void
read_sections(struct elf_facts *facts, Elf *elf, bool *lto)
{
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        GElf_Shdr header;
        Elf_Data *data = NULL;
        if (gelf_getshdr(section, &header) == NULL)
            continue;
        if (header.sh_type != SHT_NOTE && header.sh_type != SHT_DYNAMIC &&
            header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB)
            continue;
        data = elf_getdata(section, NULL);
        if (data == NULL)
            continue;
        if (header.sh_type == SHT_NOTE && !facts->archive)
            note_build_id(facts, data);
        if (header.sh_type == SHT_DYNAMIC)
            read_dynamic(facts, elf, data, &header);
        if (header.sh_type == (facts->archive ? SHT_SYMTAB : SHT_DYNSYM))
            read_symbols(facts, elf, data, &header, lto);
    }
}

/* NULL, or why the symbols of the object cannot be read. */
static const char *
unreadable(Elf *elf, const GElf_Ehdr *header)
{
    size_t bytes = 0, sections = 0;
    if (elf_rawfile(elf, &bytes) == NULL)
        return "cannot be read whole";
    if (header->e_shoff == 0)
        return "has no section headers, its symbols cannot be read";
    if (header->e_shoff > bytes ||
        bytes - header->e_shoff <
            (uint64_t)header->e_shentsize * header->e_shnum ||
        elf_getshdrnum(elf, &sections) != 0)
        return "is cut off";
    return NULL;
}

static void
read_object(struct elf_facts *facts, Elf *elf)
{
    GElf_Ehdr header;
    bool lto = false;
    if (gelf_getehdr(elf, &header) == NULL) {
        facts->error = "its ELF header is damaged";
        return;
    }
    const char *error = unreadable(elf, &header);
    if (error != NULL) {
        facts->error = error;
        return;
    }
    facts->objects++;
    if ((header.e_machine != own_header()->e_machine ||
         header.e_ident[EI_CLASS] != own_header()->e_ident[EI_CLASS]) &&
        facts->foreign_machine == NULL)
        facts->foreign_machine =
            machine_name(header.e_machine, header.e_ident[EI_CLASS]);
    if (!facts->archive) {
        facts->program = header.e_type == ET_EXEC || header.e_type == ET_CORE;
        facts->plain_object = header.e_type == ET_REL;
    }
    read_sections(facts, elf, &lto);
    if (lto)
        facts->bitcode++;
    if (!facts->archive && has_interpreter(elf) && facts->soname == NULL &&
        facts->exports.count == 0)
        facts->program = true;
}

static bool
is_bitcode(const char *bytes, size_t len)
{
    return len >= 4 && (memcmp(bytes, "BC\xc0\xde", 4) == 0 ||
                        memcmp(bytes, "\xde\xc0\x17\x0b", 4) == 0);
}

/* libelf ends its walk without a word at a member that is cut off. */
static bool
archive_whole(Elf *archive)
{
    size_t bytes = 0;
    const char *raw = elf_rawfile(archive, &bytes);
    size_t at = SARMAG;
    while (raw != NULL && at + sizeof(struct ar_hdr) <= bytes) {
        struct ar_hdr header;
        char size[sizeof header.ar_size + 1] = {0};
        memcpy(&header, raw + at, sizeof header);
        memcpy(size, header.ar_size, sizeof header.ar_size);
        at += sizeof header + strtoull(size, NULL, 10);
        at += at % 2;
    }
    return raw != NULL && (at == bytes || at == bytes + 1);
}

static void
read_members(struct elf_facts *facts, Elf *archive, int fd)
{
    Elf_Cmd command = ELF_C_READ;
    Elf *member = NULL;
    while ((member = elf_begin(fd, command, archive)) != NULL) {
        size_t len = 0;
        const char *bytes = NULL;
        const Elf_Arhdr *name = elf_getarhdr(member);
        bool index =
            name == NULL || name->ar_name == NULL || name->ar_name[0] == '/';
        if (!index && elf_kind(member) == ELF_K_ELF) {
            read_object(facts, member);
        } else if (!index) {
            bytes = elf_rawfile(member, &len);
            if (bytes != NULL && is_bitcode(bytes, len))
                facts->bitcode++;
        }
        command = elf_next(member);
        elf_end(member);
    }
}

void
elf_facts_read(struct elf_facts *facts, int fd)
{
    char magic[MAGIC_BYTES] = {0};
    *facts = (struct elf_facts){.libc = "unknown"};
    ssize_t got = pread(fd, magic, sizeof magic, 0);
    if (got == MAGIC_BYTES && memcmp(magic, THIN_MAGIC, MAGIC_BYTES) == 0) {
        facts->thin = true;
        return;
    }
    if (got >= 4 && is_bitcode(magic, (size_t)got)) {
        facts->bitcode = 1;
        return;
    }
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    if (elf == NULL) {
        facts->error = "cannot be read as an ELF file";
        return;
    }
    switch (elf_kind(elf)) {
    case ELF_K_AR:
        facts->archive = true;
        if (archive_whole(elf))
            read_members(facts, elf, fd);
        else
            facts->error = "is cut off";
        break;
    case ELF_K_ELF:
        read_object(facts, elf);
        break;
    default:
        facts->error = "is neither an ELF shared object nor an archive";
        break;
    }
    elf_end(elf);
}
