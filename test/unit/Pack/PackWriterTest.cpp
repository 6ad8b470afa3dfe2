// SPDX-License-Identifier: Apache-2.0
/// \file
/// Packs hold the quantized values, have the same bytes for any number of threads, and appear whole or not at all.
#include "SamplePack.h"

#include "lib/Pack/PackReader.h"
#include "lib/Quant/Quantize.h"
#include "lib/Support/Half.h"

#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

using namespace moec;
using namespace moec::test;

/// What is left of a row that is stored and read.
static void roundTrip(llvm::MutableArrayRef<float> row, const Encoding &encoding, llvm::StringRef name) {
  if (encoding.kind == EncodingKind::f16)
    for (float &value : row)
      value = f16ToF32(f32ToF16(value));
  if (!encoding.isInteger())
    return;
  std::vector<int8_t> codes(row.size());
  std::vector<uint16_t> scales(encoding.numScales(row.size()));
  cantFail(quantizeRow(row, encoding, name, 0, codes, scales));
  dequantizeRow(codes, scales, encoding, row);
}

TEST(PackWriterTest, TensorsReadBackAsQuantized) {
  for (LayoutFamily family : {LayoutFamily::Arm64, LayoutFamily::X86}) {
    Scratch scratch;
    PackPlan plan = samplePlan(family);
    cantFail(plan.finish());
    PackWriteResult result = writeSample(plan, scratch.path("a.moepack"));
    PackReader pack = cantFail(PackReader::open(scratch.path("a.moepack")));
    EXPECT_EQ(pack.weightsId(), result.weightsId);
    EXPECT_EQ(pack.planId(), plan.planId());
    ASSERT_EQ(pack.tensors().size(), 17u);
    for (size_t t = 0; t < pack.tensors().size(); ++t) {
      const TensorEntry &entry = pack.tensors()[t];
      ASSERT_EQ(entry.name, plan.tensors()[t].entry.name);
      std::vector<float> values = cantFail(pack.readTensor(t)), row(entry.cols);
      for (int64_t r = 0; r < entry.rows; ++r) {
        for (int64_t k = 0; k < entry.cols; ++k)
          row[k] = entry.name == "rope.cos" ? float(r * 16 + k) / 4 : sampleValue(t, r, k);
        roundTrip(row, entry.encoding, entry.name);
        for (int64_t k = 0; k < entry.cols; ++k)
          ASSERT_EQ(values[r * entry.cols + k], row[k]) << entry.name << " row " << r << " k " << k;
      }
    }
  }
}

TEST(PackWriterTest, EveryEncodingReadsBackAsQuantized) {
  Scratch scratch;
  const std::vector<Encoding> encodings{Encoding::f32(),  Encoding::f16(),    Encoding::i8(32), Encoding::i6(64),
                                        Encoding::i4(64), Encoding::i8m(128), Encoding::i4m(32)};
  for (LayoutFamily family : {LayoutFamily::Arm64, LayoutFamily::X86}) {
    PackPlan plan(family, "test");
    for (const Encoding &encoding : encodings) {
      cantFail(plan.addResident("matrix " + nameOf(encoding), 35, 256, encoding));
      cantFail(plan.addRowTable("rows " + nameOf(encoding), 5, 256, encoding));
    }
    cantFail(plan.finish());
    writeSample(plan, scratch.path("a.moepack"));
    PackReader pack = cantFail(PackReader::open(scratch.path("a.moepack")));
    EXPECT_TRUE(pack.verify().faults.empty());
    for (size_t t = 0; t < pack.tensors().size(); ++t) {
      const TensorEntry &entry = pack.tensors()[t];
      // The source numbers tensors as the plan does.
      size_t planned = 0;
      while (plan.tensors()[planned].entry.name != entry.name)
        ++planned;
      std::vector<float> values = cantFail(pack.readTensor(t)), row(entry.cols);
      for (int64_t r = 0; r < entry.rows; ++r) {
        for (int64_t k = 0; k < entry.cols; ++k)
          row[k] = sampleValue(planned, r, k);
        roundTrip(row, entry.encoding, entry.name);
        ASSERT_EQ(llvm::ArrayRef(values).slice(r * entry.cols, entry.cols), llvm::ArrayRef(row)) << entry.name;
      }
    }
  }
}

TEST(PackWriterTest, BytesDoNotDependOnThreads) {
  Scratch scratch;
  PackPlan plan(LayoutFamily::X86, "test");
  // Several pieces in one tensor: 3000 x 1024 values are three of 2^20.
  cantFail(plan.addResident("large", 3000, 1024, Encoding::i8(64)));
  cantFail(plan.addRowTable("table", 2500, 512, Encoding::i8(32)));
  cantFail(plan.finish());
  std::vector<std::string> contents;
  for (unsigned threads : {1, 2, 7}) {
    writeSample(plan, scratch.path("a.moepack"), threads);
    contents.push_back(readFile(scratch.path("a.moepack")));
  }
  EXPECT_EQ(contents[0].size(), plan.header().total_bytes);
  EXPECT_TRUE(contents[0] == contents[1] && contents[0] == contents[2]);
}

TEST(PackWriterTest, PartsHoldTheSameRecords) {
  Scratch scratch;
  PackPlan whole = samplePlan(), cut = samplePlan();
  cantFail(whole.finish());
  cantFail(cut.finish(80000));
  writeSample(whole, scratch.path("whole"));
  writeSample(cut, scratch.path("cut"));
  PackReader pack = cantFail(PackReader::open(scratch.path("cut")));
  ASSERT_GT(pack.parts().size(), 1u);
  EXPECT_TRUE(pack.verify().faults.empty());
  std::string joined = readFile(scratch.path("cut"));
  for (size_t i = 0; i < pack.parts().size(); ++i) {
    std::string content = i ? readFile(scratch.path("cut." + std::to_string(i))) : joined;
    EXPECT_EQ(content.size(), pack.parts()[i].bytes);
    llvm::StringRef hashed = llvm::StringRef(content).drop_front(i ? 0 : pack.header().resident_offset);
    Hash128 hash;
    hash.update(hashed);
    EXPECT_EQ(hash.digest(), Digest128::fromBytes(std::to_array(pack.parts()[i].hash)));
    joined += i ? content : "";
  }
  // Behind the tables the concatenation is the pack in one part.
  uint64_t begin = pack.header().resident_offset;
  EXPECT_EQ(joined.substr(begin), readFile(scratch.path("whole")).substr(begin));
}

TEST(PackWriterTest, ErrorsOfTheSourceLeaveNothingBehind) {
  Scratch scratch;
  PackPlan plan = samplePlan();
  cantFail(plan.finish());
  {
    OutputTransaction outputs;
    auto result = writePack(plan, SampleSource(plan, 3), scratch.path("a.moepack"), outputs);
    EXPECT_EQ(llvm::toString(result.takeError()), "cannot read 'router'");
  }
  EXPECT_FALSE(llvm::sys::fs::exists(scratch.path("a.moepack")));
}

TEST(PackWriterTest, InfiniteWeightsAreNamed) {
  struct Infinite : TensorSource {
    llvm::Error readRows(size_t, int64_t, int64_t, llvm::MutableArrayRef<float> out) const override {
      std::fill(out.begin(), out.end(), 1.0f);
      out[5] = std::numeric_limits<float>::infinity();
      return llvm::Error::success();
    }
  };
  Scratch scratch;
  PackPlan plan = samplePlan();
  cantFail(plan.finish());
  OutputTransaction outputs;
  EXPECT_EQ(llvm::toString(writePack(plan, Infinite(), scratch.path("a"), outputs).takeError()),
            "'attention.q' has the value infinity in row 0, column 5, expected finite weights");
}

TEST(PackWriterTest, ProgressEndsAtTheWholePack) {
  Scratch scratch;
  PackPlan plan = samplePlan();
  cantFail(plan.finish());
  OutputTransaction outputs;
  PackWriteOptions options;
  uint64_t last = 0;
  options.progress = [&](uint64_t done, uint64_t total) {
    EXPECT_GT(done, last);
    EXPECT_LE(done, total);
    EXPECT_EQ(total, plan.header().total_bytes);
    last = done;
  };
  cantFail(writePack(plan, SampleSource(plan), scratch.path("a"), outputs, options));
  EXPECT_GT(last, plan.header().total_bytes - 16384);
}
