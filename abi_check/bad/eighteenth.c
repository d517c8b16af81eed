/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An export that the contract does not know. */
int gusset_eighteenth(void);
int
gusset_eighteenth(void)
{
    return 18;
}
