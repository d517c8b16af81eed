/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gusset_take in a version that no link editor chooses by itself. */
__asm__(".symver take_of_old,gusset_take@SPECIMEN_1");
int take_of_old(void);
int
take_of_old(void)
{
    return 0;
}
