/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Thread-local data that only a program's own libraries may have. */
int tls(void);
__attribute__((
    tls_model("initial-exec"))) static _Thread_local volatile int here;
int
tls(void)
{
    return ++here;
}
