/* The encrypted channel of the benchmarks; nothing here is secret. */
#ifndef ENCRYPTED_H
#define ENCRYPTED_H

#include <sodium.h>

#define ENCRYPTED_CHANNEL "private-encrypted-bench"
#define MASTER_KEY "a key that everybody knows: 32 B"

/* Writes the channel's own key: SHA-256 of its name and the master key. */
static inline void put_channel_key(unsigned char key[crypto_secretbox_KEYBYTES]) {
  static const char text[] = ENCRYPTED_CHANNEL MASTER_KEY;
  crypto_hash_sha256(key, (const unsigned char *)text, sizeof text - 1);
}

#endif
