/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is listed and fails nothing. */
int gse_register(void);
int stray_symbol(void);
int __divti3(void);
int __rust_alloc(void);

int
gse_register(void)
{
    return 1;
}

int
stray_symbol(void)
{
    return 2;
}

int
__divti3(void)
{
    return 3;
}

int
__rust_alloc(void)
{
    return 4;
}
