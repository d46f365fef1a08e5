#include "program.h"

#include <stdio.h>
// Defines __GLIBC__ where the C library is glibc.
#include <stdlib.h>
#include <sys/utsname.h>

static int count = 0;
static char **words = NULL;

// glibc passes main's arguments to constructors. musl does not, and on Darwin Swift asks the
// system.
#ifdef __GLIBC__
__attribute__((constructor)) static void keep(int argc, char **argv) {
  count = argc;
  words = argv;
}
#endif

int pusher_argument_count(void) { return count; }

const char *pusher_argument(int index) {
  return index >= 0 && index < count ? words[index] : NULL;
}

// scripts/build.sh links an object file with these names. A definition here would need a compiler
// option, and every commit would compile everything again.
#ifdef __linux__
extern const char pusher_built_commit[] __attribute__((weak));
extern const char pusher_built_swift[] __attribute__((weak));

const char *pusher_commit(void) { return pusher_built_commit; }
const char *pusher_swift_version(void) { return pusher_built_swift; }
#else
const char *pusher_commit(void) { return NULL; }
const char *pusher_swift_version(void) { return NULL; }
#endif

void pusher_system(char *text, size_t size) {
  struct utsname names;
  if (uname(&names) < 0) {
    snprintf(text, size, "unknown");
    return;
  }
  snprintf(text, size, "%s %s %s", names.sysname, names.release, names.machine);
}
