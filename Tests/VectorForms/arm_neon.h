/* The functions of NEON that CSystemVectors uses, in plain C, so that every machine can test its form for NEON. */
#include <stdint.h>

typedef uint8_t uint8x16_t __attribute__((vector_size(16)));
typedef uint32_t uint32x4_t __attribute__((vector_size(16)));

#define vandq_u8(a, b) ((a) & (b))
#define vorrq_u8(a, b) ((a) | (b))
#define vmvnq_u8(a) (~(a))
#define vsubq_u8(a, b) ((a) - (b))
#define vceqq_u8(a, b) ((uint8x16_t)((a) == (b)))
#define vcltq_u8(a, b) ((uint8x16_t)((a) < (b)))
#define vcgtq_u8(a, b) ((uint8x16_t)((a) > (b)))
#define vdupq_n_u8(byte) ((uint8x16_t){0} + (uint8_t)(byte))
#define vreinterpretq_u32_u8(a) ((uint32x4_t)(a))
#define vgetq_lane_u32(a, lane) ((a)[lane])

static inline uint8x16_t vld1q_u8(const uint8_t *bytes) {
  uint8x16_t block;
  __builtin_memcpy(&block, bytes, sizeof block);
  return block;
}

static inline uint8x16_t vpaddq_u8(uint8x16_t first, uint8x16_t second) {
  uint8x16_t sums;
  for (int lane = 0; lane < 8; lane++) {
    sums[lane] = (uint8_t)(first[2 * lane] + first[2 * lane + 1]);
    sums[lane + 8] = (uint8_t)(second[2 * lane] + second[2 * lane + 1]);
  }
  return sums;
}

static inline uint8_t vmaxvq_u8(uint8x16_t block) {
  uint8_t most = 0;
  for (int lane = 0; lane < 16; lane++)
    if (block[lane] > most) most = block[lane];
  return most;
}
