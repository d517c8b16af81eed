/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * elf_facts.h - facts about an ELF file or an archive of ELF objects, without
 * an opinion.
 */
#ifndef SUPERVISE_ELF_FACTS_H
#define SUPERVISE_ELF_FACTS_H

#include <stdbool.h>

#include "text.h"

struct elf_facts {
    const char *error;      /* why it cannot be read, or NULL */
    bool archive;           /* else a shared object */
    bool thin;              /* an archive that only names its objects */
    bool program;           /* something to execute */
    bool plain_object;      /* a single .o */
    unsigned objects;       /* ELF objects, 1 unless an archive */
    unsigned bitcode;       /* objects without machine code: LTO */
    char *foreign_machine;  /* of the first object that is not ours, or NULL */
    char *build_id;         /* or NULL */
    char *soname;           /* or NULL */
    const char *libc;       /* "glibc", "musl", "unknown" */
    struct strings exports; /* visible global gusset_ names, each once */
    bool test_engine;       /* has a visible global gte_register */
};

/* Never fails: what cannot be read is said in facts->error. */
void elf_facts_read(struct elf_facts *facts, int fd);

/* "x86-64": the machine this program was built for. */
const char *elf_own_machine(void);

#endif /* SUPERVISE_ELF_FACTS_H */
