// SPDX-License-Identifier: Apache-2.0
/// \file
/// The commands of moe-pack: text for people, JSON for programs.
#include "tools/moe-pack/Commands.h"

#include "lib/Pack/PackReader.h"
#include "lib/Support/Json.h"
#include "lib/Support/Sizes.h"

#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace moec;

namespace moepack {

namespace {

/// Faults that are printed; a pack of another file can have thousands.
constexpr size_t kMostFaults = 10;

const char *kindOf(const moepack_record &record) {
  switch (record.kind) {
  case MOEPACK_RECORD_RESIDENT:
    return "resident";
  case MOEPACK_RECORD_EXPERT:
    return "expert";
  default:
    return "rows";
  }
}

std::string tensorText(const TensorEntry &tensor) {
  std::string name = tensor.storage == TensorStorage::Raw ? "raw f32" : nameOf(tensor.encoding);
  return tensor.name + " " + name + " " + std::to_string(tensor.rows) + "x" + std::to_string(tensor.cols);
}

/// Facts about the whole pack, the same for both commands.
JsonObject summaryOf(const PackReader &pack) {
  JsonObject summary;
  summary.set("path", pack.path())
      .set("format_version", pack.header().format_version)
      .set("family", pack.family() == LayoutFamily::Arm64 ? "arm64" : "x86")
      .set("plan_id", pack.planId().toHex())
      .set("weights_id", pack.weightsId().toHex())
      .set("records", uint64_t(pack.records().size()))
      .set("parts", uint64_t(pack.parts().size()))
      .set("bytes", pack.header().total_bytes)
      .set("resident_bytes", pack.header().resident_bytes);
  return summary;
}

void listAsJson(const PackReader &pack) {
  JsonArray records, tensors;
  for (const moepack_record &record : pack.records()) {
    JsonObject object;
    object.set("kind", kindOf(record)).set("layer", record.layer).set("expert", record.expert);
    object.set("part", record.part).set("offset", record.offset).set("bytes", record.bytes);
    object.set("row_bytes", record.row_bytes).set("checksum", toHex(record.checksum));
    records.push_back(std::move(object));
  }
  for (const TensorEntry &tensor : pack.tensors()) {
    JsonObject object;
    object.set("name", tensor.name).set("encoding", nameOf(tensor.encoding));
    object.set("rows", tensor.rows).set("cols", tensor.cols);
    object.set("record", tensor.record).set("offset", tensor.offset);
    tensors.push_back(std::move(object));
  }
  JsonObject object = summaryOf(pack);
  object.set("directory", std::move(records)).set("tensors", std::move(tensors));
  llvm::outs() << writeJson(std::move(object)) << "\n";
}

void listAsText(const PackReader &pack) {
  std::vector<std::string> textOf(pack.records().size());
  for (const TensorEntry &tensor : pack.tensors())
    textOf[tensor.record] += (textOf[tensor.record].empty() ? "" : ", ") + tensorText(tensor);
  llvm::outs() << pack.path() << ": family " << (pack.family() == LayoutFamily::Arm64 ? "arm64" : "x86") << ", "
               << pack.records().size() << " records, " << pack.parts().size() << " parts, "
               << formatSizeExact(pack.header().total_bytes) << ", plan " << pack.planId().toHex() << ", weights "
               << pack.weightsId().toHex() << "\n";
  for (size_t i = 0; i < pack.records().size(); ++i) {
    const moepack_record &record = pack.records()[i];
    llvm::outs() << kindOf(record);
    if (record.layer >= 0)
      llvm::outs() << " layer " << record.layer;
    if (record.expert >= 0)
      llvm::outs() << " expert " << record.expert;
    llvm::outs() << " at " << record.offset << ", " << record.bytes << " bytes, checksum " << toHex(record.checksum)
                 << ": " << textOf[i] << "\n";
  }
}

int verify(const PackReader &pack, const Options &options) {
  PackVerifyOptions verifyOptions;
  verifyOptions.numThreads = options.numThreads;
  bool isTerminal = isatty(STDERR_FILENO);
  uint64_t lastPercent = UINT64_MAX;
  if (isTerminal)
    verifyOptions.progress = [&](uint64_t done, uint64_t total) {
      uint64_t percent = done / (total / 100 + 1);
      if (percent != lastPercent)
        llvm::errs() << "\rverifying " << percent << " % ";
      lastPercent = percent;
    };
  PackVerifyResult result = pack.verify(verifyOptions);
  if (isTerminal)
    llvm::errs() << "\r                  \r";
  for (const std::string &fault : llvm::ArrayRef(result.faults).take_front(kMostFaults))
    llvm::errs() << "moe-pack: '" << pack.path() << "': " << fault << "\n";
  if (result.faults.size() > kMostFaults)
    llvm::errs() << "moe-pack: and " << result.faults.size() - kMostFaults << " more faults; --json shows all\n";
  if (options.json) {
    JsonArray faults;
    for (const std::string &fault : result.faults)
      faults.push_back(fault);
    JsonObject object = summaryOf(pack);
    object.set("right", result.faults.empty()).set("faults", std::move(faults));
    llvm::outs() << writeJson(std::move(object)) << "\n";
  } else if (result.faults.empty()) {
    llvm::outs() << pack.path() << ": right, " << result.numRecords << " records, " << result.numBytes
                 << " bytes checked\n";
  }
  return result.faults.empty() ? kExitRight : kExitFault;
}

} // namespace

int run(const Options &options) {
  llvm::Expected<PackReader> pack = PackReader::open(options.path);
  if (!pack) {
    std::string text = llvm::toString(pack.takeError());
    llvm::errs() << "moe-pack: " << text << "\n";
    if (options.json) {
      JsonObject object;
      object.set("path", options.path).set("right", false).set("faults", JsonArray{Json(text)});
      llvm::outs() << writeJson(std::move(object)) << "\n";
    }
    return kExitFault;
  }
  if (options.command == Command::Verify)
    return verify(*pack, options);
  options.json ? listAsJson(*pack) : listAsText(*pack);
  return kExitRight;
}

} // namespace moepack
