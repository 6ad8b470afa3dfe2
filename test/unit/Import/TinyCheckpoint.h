// SPDX-License-Identifier: Apache-2.0
/// \file
/// A complete qwen3_moe checkpoint of a few kilobytes, whose parts tests change before they write it.
#ifndef TEST_UNIT_IMPORT_TINYCHECKPOINT_H
#define TEST_UNIT_IMPORT_TINYCHECKPOINT_H

#include "lib/Import/Checkpoint.h"
#include "test/unit/Support/TestFolder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace moec::test {

struct TinyTensor {
  std::string name;
  std::string type;
  std::vector<uint64_t> shape;
  std::string data;
};

inline Json tinyConfig() {
  return llvm::cantFail(parseJson(R"({
    "model_type": "qwen3_moe", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 4, "moe_intermediate_size": 4, "num_experts": 2, "num_experts_per_tok": 1,
    "norm_topk_prob": true, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "vocab_size": 16,
    "max_position_embeddings": 32, "tie_word_embeddings": false, "attention_bias": false, "hidden_act": "silu",
    "rope_scaling": null, "mlp_only_layers": [], "decoder_sparse_step": 1, "use_sliding_window": false,
    "eos_token_id": 15})",
                                  "config.json"));
}

/// The config with one field changed.
inline Json tinyConfig(llvm::StringRef key, Json value) {
  Json config = tinyConfig();
  config.asObject()->set(key, std::move(value));
  return config;
}

inline std::vector<TinyTensor> tinyTensors() {
  Json config = tinyConfig();
  std::vector<TinyTensor> tensors;
  llvm::cantFail(forEachExpectedTensor(llvm::cantFail(parseModelConfig(JsonCursor("config.json", config))),
                                       [&](llvm::StringRef name, llvm::ArrayRef<uint64_t> shape) {
                                         uint64_t count = 1;
                                         for (uint64_t extent : shape)
                                           count *= extent;
                                         tensors.push_back(
                                             {name.str(), "BF16", shape.vec(), std::string(2 * count, '\x3C')});
                                         return llvm::Error::success();
                                       }));
  return tensors;
}

/// The bytes of a safetensors file with this header.
inline std::string safetensorsBytes(llvm::StringRef header, llvm::StringRef data) {
  std::string bytes;
  for (unsigned i = 0; i < 8; ++i)
    bytes += static_cast<char>(uint64_t(header.size()) >> (8 * i));
  return bytes + header.str() + data.str();
}

inline std::string safetensorsBytes(llvm::ArrayRef<TinyTensor> tensors) {
  JsonObject header;
  header.set("__metadata__", JsonObject().set("format", "pt"));
  std::string data;
  for (const TinyTensor &tensor : tensors) {
    JsonArray shape;
    for (uint64_t extent : tensor.shape)
      shape.push_back(extent);
    JsonArray offsets{uint64_t(data.size()), uint64_t(data.size() + tensor.data.size())};
    header.set(tensor.name, JsonObject().set("dtype", tensor.type).set("shape", shape).set("data_offsets", offsets));
    data += tensor.data;
  }
  return safetensorsBytes(writeJson(header, 0), data);
}

/// A folder with a checkpoint. Change `config` and `tensors`, then call `write` or `writeShards`.
struct TinyCheckpoint {
  TestFolder folder;
  Json config = tinyConfig();
  std::vector<TinyTensor> tensors = tinyTensors();

  TinyTensor &find(llvm::StringRef name) {
    return *llvm::find_if(tensors, [&](const TinyTensor &tensor) { return tensor.name == name; });
  }
  void remove(llvm::StringRef name) {
    llvm::erase_if(tensors, [&](const TinyTensor &tensor) { return tensor.name == name; });
  }

  void writeConfigs() {
    folder.write("config.json", writeJson(config));
    folder.write("tokenizer.json", "{}");
  }
  void write() {
    writeConfigs();
    folder.write("model.safetensors", safetensorsBytes(tensors));
  }
  /// Two shards a.safetensors and b.safetensors and their index.
  void writeShards() {
    writeConfigs();
    llvm::ArrayRef<TinyTensor> all(tensors);
    size_t half = all.size() / 2;
    folder.write("a.safetensors", safetensorsBytes(all.take_front(half)));
    folder.write("b.safetensors", safetensorsBytes(all.drop_front(half)));
    JsonObject map;
    for (size_t i = 0; i < all.size(); ++i)
      map.set(all[i].name, i < half ? "a.safetensors" : "b.safetensors");
    writeIndex(map);
  }
  void writeIndex(JsonObject map) {
    folder.write("model.safetensors.index.json", writeJson(JsonObject().set("weight_map", std::move(map))));
  }

  std::string error() { return errorText(Checkpoint::open(folder.path())); }
};

} // namespace moec::test
#endif
