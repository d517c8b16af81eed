/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Inside the program, so that they cannot get lost: what it judges by, and
 * which cases are proven. */
    .section .rodata
    .global contract_text
    .type contract_text, %object
contract_text:
    .incbin CONTRACT_FILE
    .byte 0
    .size contract_text, . - contract_text
    .global kills_text
    .type kills_text, %object
kills_text:
    .incbin KILLS_FILE
    .byte 0
    .size kills_text, . - kills_text
    .section .note.GNU-stack, "", %progbits
