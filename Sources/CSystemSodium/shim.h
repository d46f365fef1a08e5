// Of libsodium only what encrypted channels need: the box of NaCl with one key for both sides.
#ifndef PUSHER_CSYSTEM_SODIUM_SHIM_H
#define PUSHER_CSYSTEM_SODIUM_SHIM_H

#include <sodium/core.h>
#include <sodium/crypto_secretbox.h>

#endif
