// Facts about this process and this program that Swift's library does not give.
#ifndef PUSHER_CPROGRAM_H
#define PUSHER_CPROGRAM_H

#include <stddef.h>

// Returns the number of words that this process was started with, its own name included; 0 if the C
// library passes none to constructors.
//
// Swift's CommandLine reads /proc/self/cmdline on Linux, and finds no words if /proc is not
// mounted.
int pusher_argument_count(void);

// Returns the word at an index below the count; NULL for any other index.
const char *pusher_argument(int index);

// Returns the commit that the program was built from; NULL if the build did not name it.
const char *pusher_commit(void);

// Returns the version of the Swift compiler; NULL if the build did not name it.
const char *pusher_swift_version(void);

// Writes name, release and machine of the running system, such as "Linux 6.1.0 x86_64", and a NUL.
void pusher_system(char *text, size_t size);

#endif
