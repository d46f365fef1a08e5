// Bit masks of wide blocks, which Swift's own vectors cannot make; bit 0 stands for a block's first
// byte.
//
// Each function reads exactly the number of bytes in its name, at any alignment, and writes
// nothing. Every bit is exact, not only the lowest. All processors of their kind have SSE2 or NEON,
// so no check at run time is needed. The plain functions define the results; tests compare the
// others with them.
#ifndef PUSHER_CSYSTEM_VECTORS_SHIM_H
#define PUSHER_CSYSTEM_VECTORS_SHIM_H

#include <stdint.h>

// Without this attribute Swift calls some of the functions, and a call costs the hot path its
// registers.
#define PUSHER_INLINE static inline __attribute__((always_inline))

// Quotes, backslashes and controls below U+0020, which end the plain text of a JSON string.
PUSHER_INLINE uint32_t pusher_plain_string_ends_32(const uint8_t *bytes) {
  uint32_t mask = 0;
  for (int index = 0; index < 32; index++) {
    uint8_t byte = bytes[index];
    mask |= (uint32_t)(byte == 0x22 || byte == 0x5C || byte < 0x20) << index;
  }
  return mask;
}

PUSHER_INLINE uint32_t pusher_plain_string_ends_16(const uint8_t *bytes) {
  uint8_t block[32] = {0};
  for (int index = 0; index < 16; index++) block[index] = bytes[index];
  return pusher_plain_string_ends_32(block) & 0xFFFF;
}

// True if any byte of 64 ends the plain text of a JSON string.
PUSHER_INLINE int pusher_plain_has_string_end_64(const uint8_t *bytes) {
  return (pusher_plain_string_ends_32(bytes) | pusher_plain_string_ends_32(bytes + 32)) != 0;
}

PUSHER_INLINE uint32_t pusher_plain_digits_16(const uint8_t *bytes) {
  uint32_t mask = 0;
  for (int index = 0; index < 16; index++) mask |= (uint32_t)((uint8_t)(bytes[index] - 0x30) < 10) << index;
  return mask;
}

PUSHER_INLINE uint32_t pusher_plain_matches_32(const uint8_t *bytes, uint8_t wanted) {
  uint32_t mask = 0;
  for (int index = 0; index < 32; index++) mask |= (uint32_t)(bytes[index] == wanted) << index;
  return mask;
}

// Square brackets and braces, and the bytes between them, which are backslashes and bars.
PUSHER_INLINE uint32_t pusher_plain_brackets_32(const uint8_t *bytes) {
  uint32_t mask = 0;
  for (int index = 0; index < 32; index++) {
    uint8_t byte = bytes[index];
    mask |= (uint32_t)((byte >= 0x5B && byte <= 0x5D) || (byte >= 0x7B && byte <= 0x7D)) << index;
  }
  return mask;
}

// Line feeds and carriage returns.
PUSHER_INLINE uint32_t pusher_plain_line_ends_32(const uint8_t *bytes) {
  uint32_t mask = 0;
  for (int index = 0; index < 32; index++) mask |= (uint32_t)(bytes[index] == 0x0A || bytes[index] == 0x0D) << index;
  return mask;
}

// Bytes other than 0x20 to 0x7E.
PUSHER_INLINE uint32_t pusher_plain_unprintable_32(const uint8_t *bytes) {
  uint32_t mask = 0;
  for (int index = 0; index < 32; index++) mask |= (uint32_t)(bytes[index] < 0x20 || bytes[index] > 0x7E) << index;
  return mask;
}

// Bytes that differ from those of another block.
PUSHER_INLINE uint32_t pusher_plain_differences_16(const uint8_t *bytes, const uint8_t *others) {
  uint32_t mask = 0;
  for (int index = 0; index < 16; index++) mask |= (uint32_t)(bytes[index] != others[index]) << index;
  return mask;
}

// True if any byte is 0x80 or above.
PUSHER_INLINE int pusher_plain_has_high_64(const uint8_t *bytes) {
  uint8_t all = 0;
  for (int index = 0; index < 64; index++) all |= bytes[index];
  return all >= 0x80;
}

PUSHER_INLINE int pusher_plain_has_high_128(const uint8_t *bytes) {
  return pusher_plain_has_high_64(bytes) | pusher_plain_has_high_64(bytes + 64);
}

#if defined(__SSE2__)

#include <emmintrin.h>

PUSHER_INLINE uint32_t pusher_string_ends_16(const uint8_t *bytes) {
  __m128i block = _mm_loadu_si128((const __m128i *)bytes);
  __m128i backslashes = _mm_cmpeq_epi8(block, _mm_set1_epi8(0x5C));
  // With 2 flipped, quotes and controls are 0 to 0x20, and all other bytes are greater.
  __m128i turned = _mm_xor_si128(block, _mm_set1_epi8(2));
  __m128i others = _mm_cmpeq_epi8(_mm_min_epu8(turned, _mm_set1_epi8(0x20)), turned);
  return (uint32_t)_mm_movemask_epi8(_mm_or_si128(others, backslashes));
}

PUSHER_INLINE uint32_t pusher_digits_16(const uint8_t *bytes) {
  // The sum turns digits into 0x76 to 0x7F, the greatest signed numbers.
  __m128i lifted = _mm_add_epi8(_mm_loadu_si128((const __m128i *)bytes), _mm_set1_epi8(0x46));
  return (uint32_t)_mm_movemask_epi8(_mm_cmpgt_epi8(lifted, _mm_set1_epi8(0x75)));
}

PUSHER_INLINE uint32_t pusher_string_ends_32(const uint8_t *bytes) {
  return pusher_string_ends_16(bytes) | pusher_string_ends_16(bytes + 16) << 16;
}

PUSHER_INLINE int pusher_has_string_end_64(const uint8_t *bytes) {
  const __m128i *blocks = (const __m128i *)bytes;
  __m128i quotes = _mm_set1_epi8(2), backslashes = _mm_set1_epi8(0x5C);
  __m128i a = _mm_loadu_si128(blocks), b = _mm_loadu_si128(blocks + 1);
  __m128i c = _mm_loadu_si128(blocks + 2), d = _mm_loadu_si128(blocks + 3);
  // The smallest bytes of four blocks, as in pusher_string_ends_16.
  __m128i turned = _mm_min_epu8(
      _mm_min_epu8(_mm_xor_si128(a, quotes), _mm_xor_si128(b, quotes)),
      _mm_min_epu8(_mm_xor_si128(c, quotes), _mm_xor_si128(d, quotes)));
  __m128i zeros = _mm_min_epu8(
      _mm_min_epu8(_mm_xor_si128(a, backslashes), _mm_xor_si128(b, backslashes)),
      _mm_min_epu8(_mm_xor_si128(c, backslashes), _mm_xor_si128(d, backslashes)));
  __m128i others = _mm_cmpeq_epi8(_mm_min_epu8(turned, _mm_set1_epi8(0x20)), turned);
  return _mm_movemask_epi8(_mm_or_si128(others, _mm_cmpeq_epi8(zeros, _mm_setzero_si128()))) != 0;
}

PUSHER_INLINE uint32_t pusher_differences_16(const uint8_t *bytes, const uint8_t *others) {
  __m128i block = _mm_loadu_si128((const __m128i *)bytes), other = _mm_loadu_si128((const __m128i *)others);
  return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(block, other)) ^ 0xFFFF;
}

PUSHER_INLINE uint32_t pusher_matches_16(const uint8_t *bytes, uint8_t wanted) {
  __m128i block = _mm_loadu_si128((const __m128i *)bytes);
  return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8((char)wanted)));
}

PUSHER_INLINE uint32_t pusher_matches_32(const uint8_t *bytes, uint8_t wanted) {
  return pusher_matches_16(bytes, wanted) | pusher_matches_16(bytes + 16, wanted) << 16;
}

PUSHER_INLINE uint32_t pusher_brackets_16(const uint8_t *bytes) {
  // A square bracket and its brace differ in one bit.
  __m128i braces = _mm_or_si128(_mm_loadu_si128((const __m128i *)bytes), _mm_set1_epi8(0x20));
  __m128i lowered = _mm_sub_epi8(braces, _mm_set1_epi8(0x7B));
  return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(lowered, _mm_set1_epi8(2)), lowered));
}

PUSHER_INLINE uint32_t pusher_brackets_32(const uint8_t *bytes) {
  return pusher_brackets_16(bytes) | pusher_brackets_16(bytes + 16) << 16;
}

PUSHER_INLINE uint32_t pusher_line_ends_32(const uint8_t *bytes) {
  return pusher_matches_32(bytes, 0x0A) | pusher_matches_32(bytes, 0x0D);
}

PUSHER_INLINE uint32_t pusher_unprintable_16(const uint8_t *bytes) {
  // The sum makes all bytes above 0x7E negative or zero.
  __m128i lifted = _mm_add_epi8(_mm_loadu_si128((const __m128i *)bytes), _mm_set1_epi8(1));
  return (uint32_t)_mm_movemask_epi8(_mm_cmplt_epi8(lifted, _mm_set1_epi8(0x21)));
}

PUSHER_INLINE uint32_t pusher_unprintable_32(const uint8_t *bytes) {
  return pusher_unprintable_16(bytes) | pusher_unprintable_16(bytes + 16) << 16;
}

PUSHER_INLINE __m128i pusher_joined_64(const uint8_t *bytes) {
  const __m128i *blocks = (const __m128i *)bytes;
  __m128i first = _mm_or_si128(_mm_loadu_si128(blocks), _mm_loadu_si128(blocks + 1));
  __m128i second = _mm_or_si128(_mm_loadu_si128(blocks + 2), _mm_loadu_si128(blocks + 3));
  return _mm_or_si128(first, second);
}

PUSHER_INLINE int pusher_has_high_64(const uint8_t *bytes) {
  return _mm_movemask_epi8(pusher_joined_64(bytes)) != 0;
}

PUSHER_INLINE int pusher_has_high_128(const uint8_t *bytes) {
  return _mm_movemask_epi8(_mm_or_si128(pusher_joined_64(bytes), pusher_joined_64(bytes + 64))) != 0;
}

#elif defined(__aarch64__) && defined(__ARM_NEON)

#include <arm_neon.h>

// Returns one bit for each all-ones lane of two vectors.
PUSHER_INLINE uint32_t pusher_lanes(uint8x16_t first, uint8x16_t second) {
  static const uint8_t places[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  uint8x16_t bits = vld1q_u8(places);
  // Three sums of neighbours combine the bits of eight lanes.
  uint8x16_t sums = vpaddq_u8(vandq_u8(first, bits), vandq_u8(second, bits));
  sums = vpaddq_u8(sums, sums);
  sums = vpaddq_u8(sums, sums);
  return vgetq_lane_u32(vreinterpretq_u32_u8(sums), 0);
}

PUSHER_INLINE uint8x16_t pusher_string_end_lanes(uint8x16_t block) {
  uint8x16_t signs = vorrq_u8(vceqq_u8(block, vdupq_n_u8(0x22)), vceqq_u8(block, vdupq_n_u8(0x5C)));
  return vorrq_u8(signs, vcltq_u8(block, vdupq_n_u8(0x20)));
}

PUSHER_INLINE uint8x16_t pusher_digit_lanes(uint8x16_t block) {
  return vcltq_u8(vsubq_u8(block, vdupq_n_u8(0x30)), vdupq_n_u8(10));
}

PUSHER_INLINE uint32_t pusher_string_ends_16(const uint8_t *bytes) {
  return pusher_lanes(pusher_string_end_lanes(vld1q_u8(bytes)), vdupq_n_u8(0));
}

PUSHER_INLINE uint32_t pusher_string_ends_32(const uint8_t *bytes) {
  return pusher_lanes(pusher_string_end_lanes(vld1q_u8(bytes)), pusher_string_end_lanes(vld1q_u8(bytes + 16)));
}

PUSHER_INLINE int pusher_has_string_end_64(const uint8_t *bytes) {
  uint8x16_t first = vorrq_u8(pusher_string_end_lanes(vld1q_u8(bytes)), pusher_string_end_lanes(vld1q_u8(bytes + 16)));
  uint8x16_t second =
      vorrq_u8(pusher_string_end_lanes(vld1q_u8(bytes + 32)), pusher_string_end_lanes(vld1q_u8(bytes + 48)));
  return vmaxvq_u8(vorrq_u8(first, second)) != 0;
}

PUSHER_INLINE uint32_t pusher_digits_16(const uint8_t *bytes) {
  return pusher_lanes(pusher_digit_lanes(vld1q_u8(bytes)), vdupq_n_u8(0));
}

PUSHER_INLINE uint32_t pusher_differences_16(const uint8_t *bytes, const uint8_t *others) {
  return pusher_lanes(vmvnq_u8(vceqq_u8(vld1q_u8(bytes), vld1q_u8(others))), vdupq_n_u8(0));
}

PUSHER_INLINE uint32_t pusher_matches_32(const uint8_t *bytes, uint8_t wanted) {
  uint8x16_t all = vdupq_n_u8(wanted);
  return pusher_lanes(vceqq_u8(vld1q_u8(bytes), all), vceqq_u8(vld1q_u8(bytes + 16), all));
}

PUSHER_INLINE uint8x16_t pusher_bracket_lanes(uint8x16_t block) {
  return vcltq_u8(vsubq_u8(vorrq_u8(block, vdupq_n_u8(0x20)), vdupq_n_u8(0x7B)), vdupq_n_u8(3));
}

PUSHER_INLINE uint32_t pusher_brackets_32(const uint8_t *bytes) {
  return pusher_lanes(pusher_bracket_lanes(vld1q_u8(bytes)), pusher_bracket_lanes(vld1q_u8(bytes + 16)));
}

PUSHER_INLINE uint8x16_t pusher_line_end_lanes(uint8x16_t block) {
  return vorrq_u8(vceqq_u8(block, vdupq_n_u8(0x0A)), vceqq_u8(block, vdupq_n_u8(0x0D)));
}

PUSHER_INLINE uint32_t pusher_line_ends_32(const uint8_t *bytes) {
  return pusher_lanes(pusher_line_end_lanes(vld1q_u8(bytes)), pusher_line_end_lanes(vld1q_u8(bytes + 16)));
}

PUSHER_INLINE uint8x16_t pusher_unprintable_lanes(uint8x16_t block) {
  return vcgtq_u8(vsubq_u8(block, vdupq_n_u8(0x20)), vdupq_n_u8(0x5E));
}

PUSHER_INLINE uint32_t pusher_unprintable_32(const uint8_t *bytes) {
  return pusher_lanes(pusher_unprintable_lanes(vld1q_u8(bytes)), pusher_unprintable_lanes(vld1q_u8(bytes + 16)));
}

PUSHER_INLINE uint8x16_t pusher_joined_64(const uint8_t *bytes) {
  uint8x16_t first = vorrq_u8(vld1q_u8(bytes), vld1q_u8(bytes + 16));
  uint8x16_t second = vorrq_u8(vld1q_u8(bytes + 32), vld1q_u8(bytes + 48));
  return vorrq_u8(first, second);
}

PUSHER_INLINE int pusher_has_high_64(const uint8_t *bytes) { return vmaxvq_u8(pusher_joined_64(bytes)) >= 0x80; }

PUSHER_INLINE int pusher_has_high_128(const uint8_t *bytes) {
  return vmaxvq_u8(vorrq_u8(pusher_joined_64(bytes), pusher_joined_64(bytes + 64))) >= 0x80;
}

#else

PUSHER_INLINE uint32_t pusher_string_ends_16(const uint8_t *bytes) { return pusher_plain_string_ends_16(bytes); }
PUSHER_INLINE uint32_t pusher_string_ends_32(const uint8_t *bytes) { return pusher_plain_string_ends_32(bytes); }
PUSHER_INLINE int pusher_has_string_end_64(const uint8_t *bytes) { return pusher_plain_has_string_end_64(bytes); }
PUSHER_INLINE uint32_t pusher_digits_16(const uint8_t *bytes) { return pusher_plain_digits_16(bytes); }
PUSHER_INLINE uint32_t pusher_differences_16(const uint8_t *bytes, const uint8_t *others) {
  return pusher_plain_differences_16(bytes, others);
}
PUSHER_INLINE uint32_t pusher_matches_32(const uint8_t *bytes, uint8_t wanted) {
  return pusher_plain_matches_32(bytes, wanted);
}
PUSHER_INLINE uint32_t pusher_brackets_32(const uint8_t *bytes) { return pusher_plain_brackets_32(bytes); }
PUSHER_INLINE uint32_t pusher_line_ends_32(const uint8_t *bytes) { return pusher_plain_line_ends_32(bytes); }
PUSHER_INLINE uint32_t pusher_unprintable_32(const uint8_t *bytes) { return pusher_plain_unprintable_32(bytes); }
PUSHER_INLINE int pusher_has_high_64(const uint8_t *bytes) { return pusher_plain_has_high_64(bytes); }
PUSHER_INLINE int pusher_has_high_128(const uint8_t *bytes) { return pusher_plain_has_high_128(bytes); }

#endif

#endif
