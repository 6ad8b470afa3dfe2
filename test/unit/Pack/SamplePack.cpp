// SPDX-License-Identifier: Apache-2.0
/// \file
/// The sample pack.
#include "SamplePack.h"

#include "lib/Support/Fault.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

#include <fstream>
#include <sstream>

namespace moec::test {

float sampleValue(size_t tensor, int64_t row, int64_t k) {
  uint32_t mixed = uint32_t(tensor) * 2654435761u + uint32_t(row) * 40503u + uint32_t(k) * 2246822519u;
  return float(int32_t(mixed ^ mixed >> 13) % 10007) / 5000.0f;
}

llvm::Error SampleSource::readRows(size_t tensor, int64_t rowBegin, int64_t rowEnd,
                                   llvm::MutableArrayRef<float> out) const {
  if (tensor == failing)
    return fault("cannot read '" + plan.tensors()[tensor].entry.name + "'");
  int64_t cols = plan.tensors()[tensor].entry.cols;
  for (int64_t row = rowBegin; row < rowEnd; ++row)
    for (int64_t k = 0; k < cols; ++k)
      out[(row - rowBegin) * cols + k] = sampleValue(tensor, row, k);
  return llvm::Error::success();
}

PackPlan samplePlan(LayoutFamily family, llvm::StringRef compiler) {
  PackPlan plan(family, compiler.str());
  plan.addSource(1234, hash128({}));
  cantFail(plan.addResident("attention.q", 40, 64, Encoding::i8(32), 0));
  cantFail(plan.addRowTable("embed tokens", 50, 96, Encoding::i4(32)));
  cantFail(plan.addResidentRaw("norm", 1, 70, 1));
  cantFail(plan.addResident("router", 17, 64, Encoding::f32(), 1));
  cantFail(plan.addGenerated("rope.cos", 8, 16, "cos 10000", [](int64_t begin, int64_t end, auto out) {
    for (int64_t i = 0; i < (end - begin) * 16; ++i)
      out[i] = float(begin * 16 + i) / 4;
  }));
  for (int32_t layer : {0, 1})
    for (int32_t expert : {0, 1}) {
      std::string prefix = "layer" + std::to_string(layer) + ".expert" + std::to_string(expert);
      cantFail(plan.addExpert(layer, expert,
                              {ExpertMatrix{prefix + ".gate", 96, 64, Encoding::i4(64)},
                               ExpertMatrix{prefix + ".up", 96, 64, Encoding::i4(64)},
                               ExpertMatrix{prefix + ".down", 64, 96, Encoding::i8(32)}}));
    }
  return plan;
}

Scratch::Scratch() {
  llvm::SmallString<128> path;
  EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("moec-pack", path));
  folder = std::string(path);
}

Scratch::~Scratch() { llvm::sys::fs::remove_directories(folder); }

PackWriteResult writeSample(const PackPlan &plan, const std::string &path, unsigned numThreads) {
  OutputTransaction outputs;
  PackWriteOptions options;
  options.numThreads = numThreads;
  PackWriteResult result = cantFail(writePack(plan, SampleSource(plan), path, outputs, options));
  cantFail(outputs.commit());
  return result;
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void writeFile(const std::string &path, llvm::StringRef content) {
  std::ofstream(path, std::ios::binary).write(content.data(), std::streamsize(content.size()));
}

} // namespace moec::test
