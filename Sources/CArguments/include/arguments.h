// The words this process was started with, as the C library hands them to constructors.
//
// Swift's CommandLine reads /proc/self/cmdline on Linux, and finds no words where /proc is not mounted.
#ifndef PUSHER_CARGUMENTS_H
#define PUSHER_CARGUMENTS_H

// The number of words, the program's own name included; 0 where the C library hands constructors nothing.
int pusher_argument_count(void);

// The word at an index from 0 to below the count; NULL elsewhere.
const char *pusher_argument(int index);

#endif
