// Only hiredis's protocol reader and command formatter are used; sockets, TLS and the loop are
// ours.
#ifndef PUSHER_CSYSTEM_HIREDIS_SHIM_H
#define PUSHER_CSYSTEM_HIREDIS_SHIM_H

#include <hiredis/hiredis.h>
#include <hiredis/read.h>

#endif
