/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An address among the instructions, which the loader has to write. */
__asm__(".pushsection .text\n\t.balign 8\n\t.quad gusset_submit\n\t"
        ".popsection");
typedef int text_relocation;
