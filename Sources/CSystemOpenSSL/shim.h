// Macros, variadic functions and deprecated calls of OpenSSL that Swift cannot import, each with
// the reason.
#ifndef PUSHER_CSYSTEM_OPENSSL_SHIM_H
#define PUSHER_CSYSTEM_OPENSSL_SHIM_H

#include <dirent.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// prctl is variadic. Returns 0 if the process's memory is neither dumped nor visible to a debugger.
#ifdef __linux__
#include <sys/prctl.h>
static inline int pusher_get_dumpable(void) { return prctl(PR_GET_DUMPABLE, 0L, 0L, 0L, 0L); }
static inline void pusher_set_dumpable(int allowed) {
  prctl(PR_SET_DUMPABLE, (long)allowed, 0L, 0L, 0L);
}
#else
#include <sys/resource.h>
static inline int pusher_get_dumpable(void) { return 1; }
static inline void pusher_set_dumpable(int allowed) {
  struct rlimit none = {0, 0};
  if (!allowed) setrlimit(RLIMIT_CORE, &none);
}
#endif

// Must be called before OpenSSL is initialised. Without it, exit() frees the library's tables while
// client threads still use them, and the process crashes.
static inline void pusher_start_openssl(void) {
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

// The handshake of a plain ws:// connection needs one SHA-1. The context calls work without
// initialising the library (1 ms and 3 MB), the one-shot call does not. OpenSSL marks them
// deprecated, so Swift would warn.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static inline void pusher_SHA1(const void *data, size_t count, unsigned char digest[20]) {
  SHA_CTX context;
  SHA1_Init(&context);
  SHA1_Update(&context, data, count);
  SHA1_Final(digest, &context);
}
#pragma GCC diagnostic pop

// Returns a context of HMAC-SHA256 with a key, or NULL. Its parameter points to text that Swift
// does not write.
static inline EVP_MAC_CTX *pusher_hmac(const unsigned char *key, size_t count) {
  char digest[] = "SHA256";
  OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string("digest", digest, 0), OSSL_PARAM_construct_end()};
  EVP_MAC *algorithm = EVP_MAC_fetch(NULL, "HMAC", NULL);
  EVP_MAC_CTX *context = EVP_MAC_CTX_new(algorithm);
  EVP_MAC_free(algorithm);
  if (context != NULL && EVP_MAC_init(context, key, count, parameters) == 1) return context;
  EVP_MAC_CTX_free(context);
  return NULL;
}

// SSL_CTX_set_min_proto_version and the calls below are macros over the ctrl calls.
static inline int pusher_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
  return (int)SSL_CTX_set_min_proto_version(context, version);
}

static inline void pusher_SSL_CTX_set_mode(SSL_CTX *context, long mode) {
  SSL_CTX_set_mode(context, mode);
}

static inline void pusher_SSL_CTX_refuse_renegotiation(SSL_CTX *context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
}

static inline int pusher_SSL_CTX_add_chain_certificate(SSL_CTX *context, X509 *certificate) {
  return (int)SSL_CTX_add1_chain_cert(context, certificate);
}

static inline int pusher_SSL_set_tlsext_host_name(SSL *connection, const char *name) {
  return (int)SSL_set_tlsext_host_name(connection, name);
}

static inline void pusher_BIO_set_mem_eof_return(BIO *bio, long value) {
  BIO_set_mem_eof_return(bio, value);
}

// The flags are macros of macros. Bytes above 127 stay as they are, because the text is UTF-8.
static inline int pusher_X509_NAME_print(BIO *output, const X509_NAME *name) {
  return X509_NAME_print_ex(output, name, 0, XN_FLAG_RFC2253 & ~(unsigned long)ASN1_STRFLGS_ESC_MSB);
}

// Returns whether a directory holds certificates under the names of their hashes (`1a2b3c4d.0`), as
// the lookup by hash needs. OpenSSL has no public call for it, and the TLS room imports no other C
// library.
static inline int pusher_has_hashed_certificates(const char *path) {
  DIR *directory = opendir(path);
  if (directory == NULL) return 0;
  int found = 0;
  struct dirent *entry;
  while (!found && (entry = readdir(directory)) != NULL) {
    const char *name = entry->d_name;
    int index = 0;
    while (index < 8 && ((name[index] >= '0' && name[index] <= '9') || (name[index] >= 'a' && name[index] <= 'f')))
      index++;
    found = index == 8 && name[8] == '.' && name[9] >= '0' && name[9] <= '9';
  }
  closedir(directory);
  return found;
}

#endif
