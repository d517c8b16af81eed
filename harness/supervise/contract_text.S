/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The contract, inside the program: what it judges by cannot get lost. */
    .section .rodata
    .global contract_text
    .type contract_text, %object
contract_text:
    .incbin CONTRACT_FILE
    .byte 0
    .size contract_text, . - contract_text
    .section .note.GNU-stack, "", %progbits
