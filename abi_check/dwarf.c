/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. libdwfl opens both kinds of artifact, splits an archive into
 * one module per member and applies the relocations that offsets in an object
 * file need. A unit is one side: its faults name it. Types are looked through
 * (typedef, const, volatile, atomic, a struct that wraps one member) until
 * something says signed, unsigned or pointer.
 */
#include "abi_check/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <string.h>

#include "abi_check/layout.h"

#define MAX_DEPTH 32 /* of types and namespaces; deeper is damage */

struct walk {
    struct findings *found;
    const char *unit;   /* name of the compilation unit */
    const char *module; /* archive member or file */
    bool is_c;          /* C or C++ */
    size_t structs;     /* definitions seen in all units */
    size_t units;
    bool seen[FROZEN_STRUCTS];
};

/* Debug information elsewhere is not the artifact's: look nowhere. */
static int
no_other_file(Dwfl_Module *module, void **data, const char *name,
              Dwarf_Addr base, const char *file, const char *link,
              GElf_Word crc, char **path)
{
    (void)module, (void)data, (void)name, (void)base;
    (void)file, (void)link, (void)crc, (void)path;
    return -1;
}

static bool
type_of(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, DW_AT_type, &attribute) != NULL &&
           dwarf_formref_die(&attribute, type) != NULL;
}

static bool
is_transparent(int tag)
{
    return tag == DW_TAG_typedef || tag == DW_TAG_const_type ||
           tag == DW_TAG_volatile_type || tag == DW_TAG_restrict_type ||
           tag == DW_TAG_atomic_type || tag == DW_TAG_enumeration_type;
}

static uint64_t
size_of(Dwarf_Die *type)
{
    Dwarf_Word size = 0;
    return dwarf_aggregate_size(type, &size) == 0 ? size : 0;
}

/* Through typedefs only: what a const qualifies is the thing pointed to. */
static bool
points_to_const(Dwarf_Die *pointer)
{
    Dwarf_Die type;
    bool more = type_of(pointer, &type);
    for (int depth = 0; more && depth < MAX_DEPTH; depth++) {
        if (dwarf_tag(&type) == DW_TAG_const_type)
            return true;
        more = dwarf_tag(&type) == DW_TAG_typedef ||
               dwarf_tag(&type) == DW_TAG_volatile_type;
        Dwarf_Die next;
        more = more && type_of(&type, &next);
        if (more)
            type = next;
    }
    return false;
}

static enum field_kind
base_kind(Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    Dwarf_Word encoding = 0;
    if (dwarf_attr(type, DW_AT_encoding, &attribute) == NULL ||
        dwarf_formudata(&attribute, &encoding) != 0)
        return KIND_OTHER;
    switch (encoding) {
    case DW_ATE_signed:
    case DW_ATE_signed_char:
        return KIND_SIGNED;
    case DW_ATE_unsigned:
    case DW_ATE_unsigned_char:
        return KIND_UNSIGNED;
    default:
        return KIND_OTHER;
    }
}

/* The type of the only member, when that fills the whole struct. */
static bool
sole_member(Dwarf_Die *wrapper, Dwarf_Die *type)
{
    Dwarf_Die child;
    int members = 0;
    if (dwarf_child(wrapper, &child) != 0)
        return false;
    do
        if (dwarf_tag(&child) == DW_TAG_member && type_of(&child, type))
            members++;
    while (dwarf_siblingof(&child, &child) == 0);
    return members == 1 && size_of(type) == size_of(wrapper);
}

static bool
step_into(Dwarf_Die *type, Dwarf_Die *next)
{
    int tag = dwarf_tag(type);
    if (tag == DW_TAG_structure_type)
        return sole_member(type, next);
    return (is_transparent(tag) || tag == DW_TAG_array_type) &&
           type_of(type, next);
}

static void
judge_type(Dwarf_Die *type, struct abi_field *field)
{
    Dwarf_Die at = *type, next;
    field->kind = KIND_OTHER;
    field->element = 0;
    for (int depth = 0; depth < MAX_DEPTH; depth++) {
        int tag = dwarf_tag(&at);
        field->element = size_of(&at);
        if (tag == DW_TAG_pointer_type) {
            field->kind =
                points_to_const(&at) ? KIND_POINTER_TO_CONST : KIND_POINTER;
            return;
        }
        if (tag == DW_TAG_base_type ||
            (tag == DW_TAG_enumeration_type && !type_of(&at, &next))) {
            field->kind = base_kind(&at);
            return;
        }
        if (!step_into(&at, &next))
            return;
        at = next;
    }
}

/* A constant, or in old DWARF the expression "plus constant". */
static bool
offset_of(Dwarf_Die *member, uint64_t *offset)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    Dwarf_Op *operations;
    size_t count;
    if (dwarf_hasattr(member, DW_AT_bit_size))
        return false;
    if (dwarf_attr(member, DW_AT_data_member_location, &attribute) == NULL) {
        *offset = 0;
        return true;
    }
    if (dwarf_formudata(&attribute, &value) == 0)
        *offset = value;
    else if (dwarf_getlocation(&attribute, &operations, &count) == 0 &&
             count == 1 && operations[0].atom == DW_OP_plus_uconst)
        *offset = operations[0].number;
    else
        return false;
    return true;
}

static void
read_member(struct walk *walk, Dwarf_Die *member, const char *in,
            struct struct_layout *to)
{
    Dwarf_Die type;
    const char *name = dwarf_diename(member);
    struct abi_field field = {.in = in, .name = name == NULL ? "" : name};
    if (!offset_of(member, &field.offset) || !type_of(member, &type)) {
        findings_fault(walk->found,
                       "DWARF of %s in %s: %s.%s has no plain offset or type",
                       walk->unit, walk->module, in, field.name);
        return;
    }
    field.size = size_of(&type);
    judge_type(&type, &field);
    if (to->field_count < LAYOUT_MAX_FIELDS)
        to->fields[to->field_count] = field;
    to->field_count++;
}

static void
judge_struct(struct walk *walk, Dwarf_Die *definition, int index)
{
    char side[600];
    snprintf(side, sizeof side, "DWARF of %s in %s", walk->unit, walk->module);
    struct layout layout = {.side = side,
                            .tells = LAYOUT_KINDS |
                                     (walk->is_c ? LAYOUT_CONSTNESS : 0u)};
    struct struct_layout *to = &layout.structs[index];
    Dwarf_Die child;
    to->is.name = frozen_structs[index].name;
    to->is.size = size_of(definition);
    if (dwarf_child(definition, &child) == 0) {
        do
            if (dwarf_tag(&child) == DW_TAG_member)
                read_member(walk, &child, to->is.name, to);
        while (dwarf_siblingof(&child, &child) == 0);
    }
    layout_compare(&layout, walk->found);
    walk->structs++;
    walk->seen[index] = true;
}

/* A struct of that name, or a typedef of that name for a nameless struct. */
static bool
defines(Dwarf_Die *die, Dwarf_Die *definition)
{
    *definition = *die;
    if (dwarf_tag(die) == DW_TAG_typedef &&
        (!type_of(die, definition) || dwarf_diename(definition) != NULL))
        return false;
    int tag = dwarf_tag(definition);
    return (tag == DW_TAG_structure_type || tag == DW_TAG_class_type) &&
           !dwarf_hasattr(definition, DW_AT_declaration);
}

static void
walk_children(struct walk *walk, Dwarf_Die *parent, int depth)
{
    Dwarf_Die die, definition;
    if (depth > MAX_DEPTH || dwarf_child(parent, &die) != 0)
        return;
    do {
        const char *name = dwarf_diename(&die);
        if (dwarf_tag(&die) == DW_TAG_namespace)
            walk_children(walk, &die, depth + 1);
        for (int i = 0; name != NULL && i < FROZEN_STRUCTS; i++)
            if (strcmp(name, frozen_structs[i].name) == 0 &&
                defines(&die, &definition))
                judge_struct(walk, &definition, i);
    } while (dwarf_siblingof(&die, &die) == 0);
}

/* Codes of the DWARF 6 list that compilers use already. */
enum { LANG_C_PLUS_PLUS_17 = 0x2a, LANG_C_PLUS_PLUS_20, LANG_C17 };

static bool
is_c_family(int language)
{
    switch (language) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case LANG_C_PLUS_PLUS_17:
    case LANG_C_PLUS_PLUS_20:
    case LANG_C17:
        return true;
    default:
        return false;
    }
}

static void
walk_unit(struct walk *walk, Dwarf_Die *unit)
{
    const char *name = dwarf_diename(unit);
    walk->unit = name == NULL ? "a unit without a name" : name;
    walk->is_c = is_c_family(dwarf_srclang(unit));
    walk->units++;
    walk_children(walk, unit, 0);
}

static int
walk_module(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
            void *argument)
{
    (void)data, (void)base;
    struct walk *walk = argument;
    Dwarf_Addr bias;
    Dwarf_Die *unit = NULL;
    walk->module = name;
    if (dwfl_module_getdwarf(module, &bias) == NULL) {
        const char *why = dwfl_errmsg(-1);
        if (strstr(why, "No DWARF") == NULL)
            findings_fault(walk->found, "DWARF of %s is unreadable: %s", name,
                           why);
        return DWARF_CB_OK;
    }
    size_t before = walk->units;
    while ((unit = dwfl_module_nextcu(module, unit, &bias)) != NULL)
        walk_unit(walk, unit);
    if (walk->units == before)
        findings_fault(walk->found, "DWARF of %s holds no readable unit", name);
    return DWARF_CB_OK;
}

static void
conclude(struct walk *walk)
{
    char missing[200] = "";
    for (int i = 0; i < FROZEN_STRUCTS; i++)
        if (!walk->seen[i])
            snprintf(missing + strlen(missing),
                     sizeof missing - strlen(missing), "%s%s",
                     missing[0] == '\0' ? "" : ", ", frozen_structs[i].name);
    findings_note(walk->found, "DWARF: %zu units, %zu struct definitions",
                  walk->units, walk->structs);
    if (walk->found->fault_count != 0)
        return;
    if (walk->units == 0)
        findings_skip(walk->found, "the artifact has no DWARF: it is stripped "
                                   "or was built without -g");
    else if (walk->structs == 0)
        findings_skip(walk->found,
                      "the artifact's DWARF describes none of the structs %s",
                      missing);
    else if (missing[0] != '\0')
        findings_note(walk->found, "DWARF does not describe %s", missing);
}

void
dwarf_check(const char *path, struct findings *found)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = no_other_file,
        .section_address = dwfl_offline_section_address,
    };
    struct walk walk = {.found = found};
    Dwfl *dwfl = dwfl_begin(&callbacks);
    if (dwfl == NULL) {
        findings_broken(found, "libdwfl: %s", dwfl_errmsg(-1));
        return;
    }
    const char *base = strrchr(path, '/');
    base = base == NULL ? path : base + 1;
    if (dwfl_report_offline(dwfl, base, path, -1) == NULL)
        findings_fault(found, "%s: unreadable to libdwfl: %s", path,
                       dwfl_errmsg(-1));
    else {
        dwfl_report_end(dwfl, NULL, NULL);
        dwfl_getmodules(dwfl, walk_module, &walk, 0);
        conclude(&walk);
    }
    dwfl_end(dwfl);
}
