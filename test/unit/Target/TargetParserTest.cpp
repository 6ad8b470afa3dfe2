// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is wrong in a target description is refused with the file and the key.
#include "lib/Target/TargetDescription.h"

#include "gtest/gtest.h"

using namespace moec;

/// A whole description with `from` replaced by `to`.
static std::string parse(llvm::StringRef from, llvm::StringRef to) {
  std::string text = R"({"name": "a", "summary": "s", "sources": ["t"], "architecture": "aarch64", "cpu": "generic",
    "llvm_features": ["+neon"], "isa": "dotprod", "features_required": ["arm_dotprod"], "page_bytes": 4096,
    "platform": "android",
    "machine": {"cores": {"clusters": [{"count": 2, "core": "c", "max_mhz": 3000}], "source": "m"},
                "dram_peak_bytes_per_second": {"value": 70000000000, "basis": "estimated", "source": "why"}}})";
  size_t at = text.find(from.str());
  EXPECT_NE(at, std::string::npos) << from.str();
  text.replace(at, from.size(), to.str());
  auto parsed = parseTarget(text, "a.json");
  return parsed ? "read" : llvm::toString(parsed.takeError());
}

TEST(TargetParserTest, ReadsEveryKey) {
  EXPECT_EQ(parse("s", "s"), "read");
  auto parsed = cantFail(parseTarget(R"({"name": "b", "alias_of": "a", "summary": "s", "sources": []})", "b.json"));
  EXPECT_EQ(parsed.aliasOf, "a");
  EXPECT_FALSE(parsed.hasPlatform);
}

TEST(TargetParserTest, RefusesUnknownAndMissingKeys) {
  EXPECT_EQ(parse("\"cpu\"", "\"cqu\""),
            "a.json: the document has the unknown key 'cqu', expects name, summary, sources, platform, machine, "
            "architecture, cpu, llvm_features, isa, features_required, page_bytes");
  EXPECT_EQ(parse(", \"isa\": \"dotprod\"", ""), "a.json: isa is missing");
  EXPECT_EQ(parse("\"llvm_features\": [\"+neon\"]", "\"alias_of\": \"b\""),
            "a.json: the document has the unknown key 'architecture', expects name, summary, sources, platform, "
            "machine, alias_of");
  EXPECT_EQ(parse("\"max_mhz\"", "\"mhz\""),
            "a.json: machine.cores.clusters[0] has the unknown key 'mhz', expects count, core, max_mhz");
  EXPECT_EQ(parse(", \"source\": \"why\"", ""), "a.json: machine.dram_peak_bytes_per_second.source is missing");
  EXPECT_EQ(parse("\"source\": \"m\"", "\"source\": \"\""), "a.json: machine.cores.source is \"\", expects a text");
}

TEST(TargetParserTest, RefusesWrongTypes) {
  EXPECT_EQ(parse("\"s\"", "7"), "a.json: summary is 7, expects a string");
  EXPECT_EQ(parse("[\"+neon\"]", "\"+neon\""), "a.json: llvm_features is \"+neon\", expects an array");
  EXPECT_EQ(parse("[{\"count\": 2, \"core\": \"c\", \"max_mhz\": 3000}]", "[]"),
            "a.json: machine.cores.clusters is an array of 0, expects at least one cluster");
  EXPECT_EQ(parse("70000000000", "7.5"),
            "a.json: machine.dram_peak_bytes_per_second.value is 7.5, expects an integer from 1000000000 to "
            "2000000000000");
}

TEST(TargetParserTest, RefusesWhatIsOutOfRange) {
  EXPECT_EQ(parse("\"count\": 2", "\"count\": 0"), "a.json: machine.cores.clusters[0].count is 0, expects 1 to 64");
  EXPECT_EQ(parse("3000", "3"), "a.json: machine.cores.clusters[0].max_mhz is 3, expects 100 to 10000");
  EXPECT_EQ(parse("70000000000", "70"),
            "a.json: machine.dram_peak_bytes_per_second.value is 70, expects 1000000000 to 2000000000000");
  EXPECT_EQ(parse("4096", "5000"), "a.json: page_bytes is 5000, expects a power of two");
  EXPECT_EQ(parse("4096", "131072"), "a.json: page_bytes is 131072, expects 4096 to 65536");
}

TEST(TargetParserTest, RefusesUnknownNames) {
  EXPECT_EQ(parse("\"a\"", "\"b\""), "a.json: the document has the name 'b', expects that of the file");
  EXPECT_EQ(parse("\"dotprod\"", "\"mmx\""), "a.json: isa is \"mmx\", expects one of avx2, avxvnni, avx512vnni, "
                                             "neon, dotprod, i8mm");
  EXPECT_EQ(parse("\"android\"", "\"ios\""), "a.json: platform is \"ios\", expects one of linux-gnu, android");
  EXPECT_EQ(parse("\"estimated\"", "\"felt\""),
            "a.json: machine.dram_peak_bytes_per_second.basis is \"felt\", expects one of cited, estimated");
  EXPECT_EQ(parse("\"aarch64\"", "\"z80\""), "a.json: architecture is \"z80\", expects one of aarch64, x86_64");
}
