// Only what Swift cannot import by itself: macros, variadic functions and deprecated-but-needed calls of
// OpenSSL, each with the reason.
#ifndef PUSHER_CSYSTEM_OPENSSL_SHIM_H
#define PUSHER_CSYSTEM_OPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// The handshake of a plain ws:// connection needs one SHA-1. The context calls work without initialising the
// library (1 ms and 3 MB), the one-shot call does not; OpenSSL marks them deprecated, so Swift would warn.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static inline void pusher_SHA1(const void *data, size_t count, unsigned char digest[20]) {
  SHA_CTX context;
  SHA1_Init(&context);
  SHA1_Update(&context, data, count);
  SHA1_Final(digest, &context);
}
#pragma GCC diagnostic pop

#endif
