/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "abi_check/layout.h"

#include <string.h>

static void
compare_number(const struct layout *layout, const struct abi_field *wanted,
               const char *what, uint64_t expected, uint64_t actual,
               struct findings *found)
{
    found->judged++;
    if (expected != actual)
        findings_fault(found, "%s: %s.%s has %s %llu, the contract says %llu",
                       layout->side, wanted->in, wanted->name, what,
                       (unsigned long long)actual,
                       (unsigned long long)expected);
}

static enum field_kind
without_const(enum field_kind kind)
{
    return kind == KIND_POINTER_TO_CONST ? KIND_POINTER : kind;
}

static void
compare_kind(const struct layout *layout, const struct abi_field *wanted,
             const struct abi_field *seen, struct findings *found)
{
    enum field_kind expected = wanted->kind, actual = seen->kind;
    if (!(layout->tells & LAYOUT_KINDS))
        return;
    if (!(layout->tells & LAYOUT_CONSTNESS)) {
        expected = without_const(expected);
        actual = without_const(actual);
    }
    found->judged++;
    if (expected != actual)
        findings_fault(found, "%s: %s.%s is %s, the contract says %s",
                       layout->side, wanted->in, wanted->name,
                       field_kind_name(actual), field_kind_name(expected));
}

static const struct abi_field *
find_field(const struct struct_layout *seen, const char *name)
{
    for (unsigned i = 0; i < seen->field_count && i < LAYOUT_MAX_FIELDS; i++)
        if (strcmp(seen->fields[i].name, name) == 0)
            return &seen->fields[i];
    return NULL;
}

static void
compare_field(const struct layout *layout, const struct struct_layout *seen,
              const struct abi_field *wanted, struct findings *found)
{
    const struct abi_field *field = find_field(seen, wanted->name);
    found->judged++;
    if (field == NULL) {
        findings_fault(found, "%s: %s has no field %s", layout->side,
                       wanted->in, wanted->name);
        return;
    }
    compare_number(layout, wanted, "offset", wanted->offset, field->offset,
                   found);
    compare_number(layout, wanted, "size", wanted->size, field->size, found);
    if (layout->tells & LAYOUT_ELEMENTS)
        compare_number(layout, wanted, "element size", wanted->element,
                       field->element, found);
    compare_kind(layout, wanted, field, found);
}

/*
 * A field that the contract does not name may only spell out padding: it must
 * lie between the fields and inside the struct.
 */
static void
judge_unknown_field(const struct layout *layout, const struct abi_struct *in,
                    const struct abi_field *field, struct findings *found)
{
    bool overlaps = field->offset + field->size > in->size;
    for (int i = 0; i < FROZEN_FIELDS; i++) {
        const struct abi_field *named = &frozen_fields[i];
        if (strcmp(named->in, in->name) != 0)
            continue;
        if (strcmp(named->name, field->name) == 0)
            return;
        if (field->offset < named->offset + named->size &&
            named->offset < field->offset + field->size)
            overlaps = true;
    }
    if (overlaps)
        findings_fault(found, "%s: %s has a field %s, unknown to the contract",
                       layout->side, in->name, field->name);
    else
        findings_note(found, "%s: %s names its padding: %s", layout->side,
                      in->name, field->name);
}

static void
compare_struct(const struct layout *layout, int index, struct findings *found)
{
    const struct abi_struct *wanted = &frozen_structs[index];
    const struct struct_layout *seen = &layout->structs[index];
    found->judged++;
    if (seen->is.size != wanted->size)
        findings_fault(found, "%s: %s has size %llu, the contract says %llu",
                       layout->side, wanted->name,
                       (unsigned long long)seen->is.size,
                       (unsigned long long)wanted->size);
    if ((layout->tells & LAYOUT_ALIGNS) && seen->is.align != wanted->align)
        findings_fault(
            found, "%s: %s has alignment %llu, the contract says %llu",
            layout->side, wanted->name, (unsigned long long)seen->is.align,
            (unsigned long long)wanted->align);
    for (int i = 0; i < FROZEN_FIELDS; i++)
        if (strcmp(frozen_fields[i].in, wanted->name) == 0)
            compare_field(layout, seen, &frozen_fields[i], found);
    if (seen->field_count > LAYOUT_MAX_FIELDS)
        findings_fault(found, "%s: %s has %u fields", layout->side,
                       wanted->name, seen->field_count);
    for (unsigned i = 0; i < seen->field_count && i < LAYOUT_MAX_FIELDS; i++)
        judge_unknown_field(layout, wanted, &seen->fields[i], found);
}

void
layout_compare(const struct layout *layout, struct findings *found)
{
    for (int i = 0; i < FROZEN_STRUCTS; i++)
        if (layout->structs[i].is.name != NULL)
            compare_struct(layout, i, found);
}

void
layout_frozen(struct layout *layout)
{
    memset(layout, 0, sizeof *layout);
    layout->side = "the contract";
    layout->tells =
        LAYOUT_ALIGNS | LAYOUT_KINDS | LAYOUT_CONSTNESS | LAYOUT_ELEMENTS;
    for (int i = 0; i < FROZEN_STRUCTS; i++) {
        struct struct_layout *to = &layout->structs[i];
        to->is = frozen_structs[i];
        for (int f = 0; f < FROZEN_FIELDS; f++)
            if (strcmp(frozen_fields[f].in, to->is.name) == 0)
                to->fields[to->field_count++] = frozen_fields[f];
    }
}
