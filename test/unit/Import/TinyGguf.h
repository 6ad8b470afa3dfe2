// SPDX-License-Identifier: Apache-2.0
/// \file
/// The bytes of gguf files of any content, right or wrong.
#ifndef TEST_UNIT_IMPORT_TINYGGUF_H
#define TEST_UNIT_IMPORT_TINYGGUF_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace moec::test {

inline std::string number(uint64_t value, unsigned numBytes) {
  std::string bytes;
  for (unsigned i = 0; i < numBytes; ++i)
    bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}
inline std::string u32(uint64_t value) { return number(value, 4); }
inline std::string u64(uint64_t value) { return number(value, 8); }
inline std::string text(llvm::StringRef value) { return u64(value.size()) + value.str(); }

/// Entries of the metadata, each key, type and value.
inline std::string textKey(llvm::StringRef key, llvm::StringRef value) { return text(key) + u32(8) + text(value); }
inline std::string countKey(llvm::StringRef key, uint64_t value) { return text(key) + u32(4) + u32(value); }
inline std::string realKey(llvm::StringRef key, uint32_t bits) { return text(key) + u32(6) + u32(bits); }

/// A tensor's entry; `dimensions` with the fastest first, as the file has them.
inline std::string tensorEntry(llvm::StringRef name, std::vector<uint64_t> dimensions, uint32_t type, uint64_t offset) {
  std::string entry = text(name) + u32(dimensions.size());
  for (uint64_t extent : dimensions)
    entry += u64(extent);
  return entry + u32(type) + u64(offset);
}

inline std::string ggufBytes(const std::vector<std::string> &keys, const std::vector<std::string> &tensors,
                             uint64_t dataBytes = 0, uint64_t alignment = 32) {
  std::string bytes = "GGUF" + u32(3) + u64(tensors.size()) + u64(keys.size());
  for (const std::string &key : keys)
    bytes += key;
  for (const std::string &tensor : tensors)
    bytes += tensor;
  bytes.append((alignment - bytes.size() % alignment) % alignment, '\0');
  return bytes + std::string(dataBytes, '\x3C');
}

/// Metadata of a qwen3moe model of one layer, as TinyCheckpoint.h has it.
inline std::vector<std::string> tinyKeys(llvm::StringRef architecture = "qwen3moe") {
  std::string prefix = architecture.str() + ".";
  return {textKey("general.architecture", architecture),
          countKey(prefix + "block_count", 1),
          countKey(prefix + "context_length", 32),
          countKey(prefix + "embedding_length", 8),
          countKey(prefix + "attention.head_count", 2),
          countKey(prefix + "attention.head_count_kv", 1),
          countKey(prefix + "attention.key_length", 4),
          realKey(prefix + "attention.layer_norm_rms_epsilon", 0x358637BD),
          realKey(prefix + "rope.freq_base", 0x461C4000),
          countKey(prefix + "feed_forward_length", 8),
          countKey(prefix + "expert_count", architecture == "qwen3moe" ? 2 : 0),
          countKey(prefix + "expert_used_count", 1),
          countKey(prefix + "expert_feed_forward_length", 4),
          countKey("tokenizer.ggml.eos_token_id", 15)};
}

} // namespace moec::test

#endif
