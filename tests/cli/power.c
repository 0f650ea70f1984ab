/* Ends the process at its n-th write to a folder: as kill -9 does, or as a power cut, which loses what was not synced.
 *
 * Preloaded, it stands before what writes. Of a file that was written to since its last fsync a random number of the last
 * writes is lost, the first of these in part; of names made since the folder's last fsync a random number of the last. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
enum kind { WRITTEN, MADE, RENAMED };
struct step { enum kind kind; int fd; ino_t file; off_t at, size; size_t old, len; char *bytes, *path, *from; struct step *before; };
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
static char folder[4096];
static long left = -1, seen;
static int power;
static struct step *last;

void power_watch(const char *path, long nth, int cut, unsigned seed) {
    snprintf(folder, sizeof folder, "%s/", path);
    left = nth; power = cut; seen = 0; srandom(seed);
}
long power_seen(void) { return seen; }

static int inside(const char *path) { return *folder && path && !strncmp(path, folder, strlen(folder)); }
static int path_of(int fd, char *path) {
    char link[64];
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, 4095);
    errno = saved;
    path[n < 0 ? 0 : n] = 0;
    return inside(path);
}
static struct step *stepped(enum kind kind, const char *path, const char *from) {
    struct step *step = calloc(1, sizeof *step);
    step->kind = kind; step->path = strdup(path); step->from = from ? strdup(from) : NULL; step->fd = -1;
    step->before = last;
    return last = step;
}
static void lose_writes(ino_t file) {
    long count = 0;
    for (struct step *s = last; s; s = s->before) count += s->kind == WRITTEN && s->file == file;
    if (!count) return;
    long lost = random() % (count + 1);
    for (struct step *s = last; s && lost; s = s->before) {
        if (s->kind != WRITTEN || s->file != file) continue;
        off_t kept = --lost ? 0 : random() % (s->len + 1);  /* the first of those that are lost, in part */
        if ((size_t)kept < s->old) REAL(pwrite64)(s->fd, s->bytes + kept, s->old - kept, s->at + kept);
        off_t end = s->at + kept > s->size ? s->at + kept : s->size;
        if (s->len || !kept) REAL(ftruncate64)(s->fd, end);
    }
    for (struct step *s = last; s; s = s->before) if (s->kind == WRITTEN && s->file == file) s->file = 0;
}
static void end(void) {
    if (power) {
        long names = 0;
        for (struct step *s = last; s; s = s->before) {
            if (s->kind == WRITTEN && s->file) lose_writes(s->file);
            names += s->kind != WRITTEN;
        }
        long lost = names ? random() % (names + 1) : 0;
        for (struct step *s = last; s && lost; s = s->before) {
            if (s->kind == WRITTEN) continue;
            if (s->kind == MADE) REAL(unlink)(s->path); else REAL(rename)(s->path, s->from);
            lost--;
        }
    }
    kill(getpid(), SIGKILL);
    pause();
}
static void count(void) { seen++; if (left > 0 && !--left) end(); }
static void will_write(int fd, off_t at, size_t len) {
    struct stat about;
    char path[4096], self[64];
    if (!path_of(fd, path) || fstat(fd, &about) || !S_ISREG(about.st_mode)) return;
    count();
    if (!power) return;
    struct step *step = stepped(WRITTEN, path, NULL);
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    step->fd = REAL(open64)(self, O_RDWR);
    if (at < 0) at = fcntl(fd, F_GETFL) & O_APPEND ? about.st_size : lseek(fd, 0, SEEK_CUR);
    step->file = about.st_ino; step->at = at; step->size = about.st_size; step->len = len;
    size_t until = len ? len : (size_t)(about.st_size > at ? about.st_size - at : 0);  /* cut off, where nothing is written */
    step->bytes = malloc(until + 1);
    ssize_t old = pread64(step->fd, step->bytes, until, at);
    step->old = old < 0 ? 0 : old;
}
static void was_synced(int fd) {
    struct stat about;
    char path[4096];
    if (!path_of(fd, path) && strncmp(folder, path, strlen(path))) return;
    if (fstat(fd, &about)) return;
    if (!S_ISDIR(about.st_mode)) count();
    for (struct step **s = &last; *s;) {
        char *copy = strdup((*s)->path);
        int done = (*s)->kind == WRITTEN ? (*s)->file == about.st_ino : S_ISDIR(about.st_mode) && !strcmp(dirname(copy), path);
        free(copy);
        if (done) { if ((*s)->fd >= 0) close((*s)->fd); *s = (*s)->before; } else s = &(*s)->before;
    }
}
#define ALONE(...) do { int err_ = errno; pthread_mutex_lock(&one); __VA_ARGS__; pthread_mutex_unlock(&one); errno = err_; } while (0)

ssize_t write(int fd, const void *data, size_t n) { ssize_t r; if (*folder) ALONE(will_write(fd, -1, n)); r = REAL(write)(fd, data, n); return r; }
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) { if (*folder) ALONE(will_write(fd, at, n)); return REAL(pwrite64)(fd, data, n, at); }
ssize_t pwrite(int fd, const void *data, size_t n, off_t at) { return pwrite64(fd, data, n, at); }
int ftruncate64(int fd, off64_t n) { if (*folder) ALONE(will_write(fd, n, 0)); return REAL(ftruncate64)(fd, n); }
int ftruncate(int fd, off_t n) { return ftruncate64(fd, n); }
int fsync(int fd) { int r = REAL(fsync)(fd); if (*folder) ALONE(was_synced(fd)); return r; }
int fdatasync(int fd) { int r = REAL(fdatasync)(fd); if (*folder) ALONE(was_synced(fd)); return r; }
int rename(const char *from, const char *to) {
    if (inside(to)) ALONE(count(); if (power && access(to, F_OK)) stepped(RENAMED, to, from));
    return REAL(rename)(from, to);
}
int link(const char *from, const char *to) {
    if (inside(to)) ALONE(count(); if (power && access(to, F_OK)) stepped(MADE, to, NULL));
    return REAL(link)(from, to);
}
int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (flags & O_CREAT && inside(path) && access(path, F_OK)) ALONE(count(); if (power) stepped(MADE, path, NULL));
    return REAL(open64)(path, flags, mode);
}
int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return open64(path, flags, mode);
}
