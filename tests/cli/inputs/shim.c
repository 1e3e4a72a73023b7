/* Makes reads and writes short and interrupts some of them, as the standard allows: loaded before the C library (LD_PRELOAD).
   Of every four calls one is interrupted, one is a byte, one is half, and one is left alone. Of what is opened for direct access
   (O_DIRECT) the lengths stay whole pages. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/types.h>

static atomic_uint calls;

static int shorten(int fd, size_t *count)
{
    unsigned turn = atomic_fetch_add(&calls, 1) % 4;
    size_t page = 1;
    if (turn == 0) {
        errno = EINTR;
        return -1;
    }
    if (fcntl(fd, F_GETFL) & O_DIRECT)
        page = 4096;
    if (turn == 1 && *count > page)
        *count = page;
    if (turn == 2 && *count > 2 * page)
        *count = *count / 2 / page * page;
    return 0;
}

#define WRAP(name, buffer)                                                     \
    ssize_t name(int fd, buffer data, size_t count)                            \
    {                                                                          \
        static ssize_t (*real)(int, buffer, size_t);                           \
        if (!real)                                                             \
            real = (ssize_t (*)(int, buffer, size_t))dlsym(RTLD_NEXT, #name);  \
        return fd > 2 && shorten(fd, &count) ? -1 : real(fd, data, count);     \
    }
#define WRAP_AT(name, buffer)                                                  \
    ssize_t name(int fd, buffer data, size_t count, off_t offset)              \
    {                                                                          \
        static ssize_t (*real)(int, buffer, size_t, off_t);                    \
        if (!real)                                                             \
            real = (ssize_t (*)(int, buffer, size_t, off_t))dlsym(RTLD_NEXT, #name); \
        return shorten(fd, &count) ? -1 : real(fd, data, count, offset);       \
    }

WRAP(read, void *)
WRAP(write, const void *)
WRAP_AT(pread64, void *)
WRAP_AT(pwrite64, const void *)
