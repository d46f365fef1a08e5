// Only the parts of libsodium for encrypted channels: NaCl's secret box.
#ifndef PUSHER_CSYSTEM_SODIUM_SHIM_H
#define PUSHER_CSYSTEM_SODIUM_SHIM_H

#include <sodium/core.h>
#include <sodium/crypto_secretbox.h>

#endif
