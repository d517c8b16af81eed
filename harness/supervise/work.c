/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exit_codes.h"
#include "text.h"

void
work_lock(const char *folder)
{
    char *path = need_format("%s/.lock", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        quit(EXIT_USAGE, "--out %s: %s", folder, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        quit(EXIT_USAGE, "--out %s: another run writes its reports there",
             folder);
    free(path);
}

static void
remove_whole(int parent, const char *name)
{
    int fd =
        openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry = NULL;
    if (folder == NULL)
        return;
    while ((entry = readdir(folder)) != NULL)
        unlinkat(fd, entry->d_name, 0);
    closedir(folder);
    unlinkat(parent, name, AT_REMOVEDIR);
}

/* What a run that was killed could not take away; the folder is locked. */
static void
remove_stale(const char *folder)
{
    DIR *list = opendir(folder);
    const struct dirent *entry = NULL;
    while (list != NULL && (entry = readdir(list)) != NULL) {
        static const char prefix[] = "work-";
        char *end = NULL;
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        long pid = strtol(entry->d_name + strlen(prefix), &end, 10);
        if (*end == '\0' && pid > 0 && kill((pid_t)pid, 0) != 0 &&
            errno == ESRCH)
            remove_whole(dirfd(list), entry->d_name);
    }
    if (list != NULL)
        closedir(list);
}

char *
work_make(const char *folder)
{
    remove_stale(folder);
    char *path = need_format("%s/work-%ld", folder, (long)getpid());
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        quit(EXIT_USAGE, "--out %s: %s", folder, strerror(errno));
    char *whole = realpath(path, NULL);
    if (whole == NULL)
        quit(EXIT_USAGE, "--out %s: %s", folder, strerror(errno));
    free(path);
    return whole;
}

void
work_remove(char *folder)
{
    rmdir(folder);
    free(folder);
}
