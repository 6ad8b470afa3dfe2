// SPDX-License-Identifier: Apache-2.0
/// \file
/// A small pack with every kind of tensor, for tests of plan, writer and reader.
#ifndef TEST_UNIT_PACK_SAMPLEPACK_H
#define TEST_UNIT_PACK_SAMPLEPACK_H

#include "lib/Pack/PackWriter.h"

#include <string>

namespace moec::test {

/// The value of (row, k) of a tensor: any function that differs everywhere.
float sampleValue(size_t tensor, int64_t row, int64_t k);

/// Gives `sampleValue`, or fails for one tensor.
class SampleSource : public TensorSource {
public:
  explicit SampleSource(const PackPlan &plan, size_t failing = SIZE_MAX) : plan(plan), failing(failing) {}
  llvm::Error readRows(size_t tensor, int64_t rowBegin, int64_t rowEnd,
                       llvm::MutableArrayRef<float> out) const override;

private:
  const PackPlan &plan;
  size_t failing;
};

/// Resident matrix, vector and generated table, a row table, 2 x 2 experts; not finished.
PackPlan samplePlan(LayoutFamily family = LayoutFamily::Arm64, llvm::StringRef compiler = "test 1");

/// A folder that is gone afterwards.
class Scratch {
public:
  Scratch();
  ~Scratch();
  std::string path(llvm::StringRef name) const { return folder + "/" + name.str(); }

private:
  std::string folder;
};

/// Writes the sample pack and commits it.
PackWriteResult writeSample(const PackPlan &plan, const std::string &path, unsigned numThreads = 2);

std::string readFile(const std::string &path);
void writeFile(const std::string &path, llvm::StringRef content);

} // namespace moec::test

#endif
