// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a planned module to the weight pack. Main source: docs/pack-format.md.
#include "lib/Compiler/PackStep.h"

#include "lib/Compiler/ModuleFiles.h"

#include "dialects/moe/MoeDialect.h"
#include "dialects/rt/RtDialect.h"
#include "lib/Import/WeightPieces.h"
#include "lib/Plan/RopeTable.h"
#include "lib/Support/Fault.h"
#include "passes/plan/StoredWeight.h"

#include "llvm/ADT/MapVector.h"

#include <bit>

using namespace mlir;

namespace moec {

llvm::StringRef compilerVersion() { return "moec 0.1.0"; }

namespace {

/// Values of weights from the checkpoint's files; a tensor of the plan is one matrix of a `moe.weight`.
class ModuleSource : public TensorSource {
public:
  std::vector<WeightFile> files;
  struct Values {
    PiecedWeight weight;
    bool isVerbatim;
  };
  std::vector<std::optional<Values>> sources; ///< by tensor number; nothing for generated ones

  llvm::Error readRows(size_t tensor, int64_t rowBegin, int64_t rowEnd,
                       llvm::MutableArrayRef<float> out) const override {
    if (tensor >= sources.size() || !sources[tensor])
      return fault("tensor " + llvm::Twine(tensor) + " of the pack has no source");
    return sources[tensor]->weight.readRows(rowBegin, rowEnd - rowBegin, out);
  }
  bool hasCodes(size_t tensor) const override {
    return tensor < sources.size() && sources[tensor] && sources[tensor]->isVerbatim;
  }
  llvm::Error readCodes(size_t tensor, int64_t rowBegin, int64_t rowEnd, llvm::MutableArrayRef<int8_t> codes,
                        llvm::MutableArrayRef<uint16_t> scales) const override {
    return sources[tensor]->weight.readCodes(rowBegin, rowEnd - rowBegin, codes, scales);
  }
};

class PackPlanner {
public:
  PackPlanner(ModuleOp module, LayoutFamily family)
      : module(module), family(family), plan(family, compilerVersion().str()),
        source(std::make_unique<ModuleSource>()) {}

  llvm::Expected<PackPlanOfModule> run(uint64_t partBytes);

private:
  llvm::Error openFiles();
  llvm::Error addWeight(moe::WeightOp weight);
  llvm::Error addExperts();
  llvm::Error addRopeTables();
  /// Notes the source of the tensor that was just numbered `tensor`: matrix `index` of `weight`.
  llvm::Error setSource(llvm::Expected<size_t> tensor, moe::WeightOp weight, int64_t index);

  ModuleOp module;
  LayoutFamily family;
  PackPlan plan;
  std::unique_ptr<ModuleSource> source;
  /// gate, up, down of each layer, in the order of the layers.
  llvm::MapVector<int64_t, std::array<moe::WeightOp, 3>> experts;
  std::vector<std::pair<int64_t, size_t>> tables; ///< number in the module, tensor in the plan
};

} // namespace

llvm::Error PackPlanner::openFiles() {
  auto files = module->getAttrOfType<ArrayAttr>("moe.files");
  if (!files)
    return fault("the module has no moe.files; start from a file that moec wrote");
  for (Attribute attribute : files) {
    auto entry = dyn_cast<DictionaryAttr>(attribute);
    auto path = entry ? entry.getAs<StringAttr>("path") : StringAttr();
    auto hash = entry ? entry.getAs<StringAttr>("hash") : StringAttr();
    auto digest = hash ? Digest128::fromHex(hash.getValue()) : std::nullopt;
    if (!path || !digest)
      return fault("expects {path, size, hash} for each entry of moe.files");
    auto size = entry.getAs<IntegerAttr>("size");
    if (auto kind = entry.getAs<StringAttr>("kind")) {
      std::optional<RandomKind> random = parseRandomKind(kind.getValue());
      if (!random || !size)
        return fault("'" + path.getValue() + "' has the kind '" + kind.getValue() + "', expects random:SEED");
      plan.addSource(static_cast<uint64_t>(size.getInt()), *digest);
      source->files.push_back({nullptr, *random, static_cast<uint64_t>(size.getInt())});
      continue;
    }
    auto file = RandomAccessFile::open(path.getValue());
    if (!file)
      return file.takeError();
    if (!size || file->sizeBytes() != static_cast<uint64_t>(size.getInt()))
      return fault("'" + path.getValue() + "' has changed since import: it has " + llvm::Twine(file->sizeBytes()) +
                   " bytes");
    plan.addSource(file->sizeBytes(), *digest);
    uint64_t sizeBytes = file->sizeBytes();
    source->files.push_back({std::make_unique<RandomAccessFile>(std::move(*file)), {}, sizeBytes});
  }
  return llvm::Error::success();
}

llvm::Error PackPlanner::setSource(llvm::Expected<size_t> tensor, moe::WeightOp weight, int64_t index) {
  if (!tensor)
    return tensor.takeError();
  auto values = PiecedWeight::create(weight, index, source->files);
  if (!values)
    return values.takeError();
  source->sources.resize(std::max(source->sources.size(), *tensor + 1));
  source->sources[*tensor] = {std::move(*values), weight.isVerbatim()};
  if (weight.isVerbatim())
    plan.setRecipe(*tensor, moe::kVerbatim);
  return llvm::Error::success();
}

llvm::Error PackPlanner::addWeight(moe::WeightOp weight) {
  FailureOr<moe::StoredWeight> stored = moe::storedWeightOf(weight, family);
  if (failed(stored))
    return fault("'" + weight.getSymName() + "' cannot be stored; see the message before");
  Attribute placement = weight.getPlacementAttr();
  // The embedding of a tied model is read where the head lies.
  if (weight.getRole() == moe::Role::embedding && isa_and_present<rt::ResidentPlaceAttr>(placement)) {
    if (!moe::isHeadEmbedding(weight) || moe::tiedHeadOf(weight).getPlacementAttr() != placement)
      return fault("'" + weight.getSymName() +
                   "' has a resident placement, expects the one of a head with its source "
                   "and encoding");
    return llvm::Error::success();
  }
  if (isa_and_present<rt::PagedPlaceAttr>(placement)) {
    unsigned slot = weight.getRole() == moe::Role::expert_gate ? 0 : weight.getRole() == moe::Role::expert_up ? 1 : 2;
    experts[weight.getLayer()][slot] = weight;
    return llvm::Error::success();
  }
  std::string name = weight.getLabel();
  if (auto place = dyn_cast_if_present<rt::StreamedPlaceAttr>(placement)) {
    auto tensor = plan.addRowTable(name, stored->rows, stored->cols, stored->encoding);
    if (tensor)
      tables.emplace_back(place.getTable(), *tensor);
    return setSource(std::move(tensor), weight, 0);
  }
  auto place = dyn_cast_if_present<rt::ResidentPlaceAttr>(placement);
  if (!place)
    return fault("'" + name + "' has no placement; run the plan stage first");
  int32_t layer = static_cast<int32_t>(static_cast<int64_t>(weight.getLayer()));
  auto tensor = weight.getTensorType().getRank() == 1
                    ? plan.addResidentRaw(name, stored->rows, stored->cols, layer, place.getOffset())
                    : plan.addResident(name, stored->rows, stored->cols, stored->encoding, layer, place.getOffset());
  return setSource(std::move(tensor), weight, 0);
}

llvm::Error PackPlanner::addExperts() {
  for (auto &[layer, weights] : experts) {
    if (!weights[0] || !weights[1] || !weights[2])
      return fault("layer " + llvm::Twine(layer) + " lacks a gate, up or down matrix of its experts");
    int64_t numExperts = weights[0].getTensorType().getDimSize(0);
    for (int64_t expert = 0; expert < numExperts; ++expert) {
      std::array<ExpertMatrix, 3> matrices;
      for (auto [matrix, weight] : llvm::zip_equal(matrices, weights)) {
        FailureOr<moe::StoredWeight> stored = moe::storedWeightOf(weight, family);
        if (failed(stored))
          return fault("'" + weight.getSymName() + "' cannot be stored; see the message before");
        matrix = {weight.getLabel(expert), stored->rows, stored->cols, stored->encoding};
      }
      auto first = plan.addExpert(static_cast<int32_t>(layer), static_cast<int32_t>(expert), matrices);
      if (!first)
        return first.takeError();
      for (size_t index = 0; index < 3; ++index)
        if (llvm::Error error = setSource(*first + index, weights[index], expert))
          return error;
    }
  }
  return llvm::Error::success();
}

llvm::Error PackPlanner::addRopeTables() {
  int64_t positions = integerOf(module, "rt.pack", "rope_positions"), half = integerOf(module, "rt.pack", "rope_half");
  if (!positions)
    return llvm::Error::success();
  double theta = std::bit_cast<double>(integerOf(module, "rt.pack", "rope_theta_bits"));
  auto pack = module->getAttrOfType<DictionaryAttr>("rt.pack");
  auto scaling = pack ? pack.getAs<moe::RopeScalingAttr>("rope_scaling") : moe::RopeScalingAttr();
  for (bool isSine : {false, true}) {
    auto generate = [=](int64_t rowBegin, int64_t rowEnd, llvm::MutableArrayRef<float> out) {
      std::vector<double> frequencies = ropeFrequencies(2 * half, theta, moe::ropeScalingOf(scaling));
      for (int64_t row = rowBegin; row < rowEnd; ++row)
        ropeRow(row, frequencies, isSine, out.slice((row - rowBegin) * half, half));
    };
    std::string recipe =
        (llvm::Twine("rope ") + (isSine ? "sin" : "cos") + " theta bits " + llvm::Twine(std::bit_cast<uint64_t>(theta)))
            .str();
    if (scaling)
      llvm::raw_string_ostream(recipe) << " scaling " << scaling;
    auto tensor = plan.addGenerated(isSine ? "rope.sin" : "rope.cos", positions, half, recipe, generate,
                                    integerOf(module, "rt.pack", isSine ? "rope_sin_offset" : "rope_cos_offset"));
    if (!tensor)
      return tensor.takeError();
  }
  return llvm::Error::success();
}

llvm::Expected<PackPlanOfModule> PackPlanner::run(uint64_t partBytes) {
  if (llvm::Error error = openFiles())
    return std::move(error);
  for (auto weight : module.getOps<moe::WeightOp>())
    if (llvm::Error error = addWeight(weight))
      return std::move(error);
  if (llvm::Error error = addRopeTables())
    return std::move(error);
  if (llvm::Error error = addExperts())
    return std::move(error);
  if (llvm::Error error = plan.finish(partBytes))
    return std::move(error);
  std::vector<moert_streamed_table> streamed(tables.size());
  for (auto [number, tensor] : tables) {
    uint32_t record = plan.tensors()[tensor].entry.record;
    const moepack_record &row = plan.records()[record].record;
    if (number < 0 || number >= int64_t(streamed.size()))
      return fault("streamed table " + llvm::Twine(number) + " is out of range");
    streamed[number] = {record, static_cast<uint32_t>(row.row_bytes),
                        static_cast<uint64_t>(plan.tensors()[tensor].entry.rows)};
  }
  if (plan.expertRecordBytes() != uint64_t(integerOf(module, "rt.pack", "record_bytes")))
    return fault("the pack has expert records of " + llvm::Twine(plan.expertRecordBytes()) +
                 " bytes, the plan expects " + llvm::Twine(integerOf(module, "rt.pack", "record_bytes")));
  if (plan.residentBytes() != uint64_t(integerOf(module, "rt.pack", "resident_bytes")))
    return fault("the pack has " + llvm::Twine(plan.residentBytes()) + " resident bytes, the plan expects " +
                 llvm::Twine(integerOf(module, "rt.pack", "resident_bytes")));
  return PackPlanOfModule{std::move(plan), std::move(source), std::move(streamed)};
}

llvm::Expected<PackPlanOfModule> planPack(ModuleOp module, uint64_t partBytes) {
  FailureOr<LayoutFamily> family = moe::familyOf(module);
  if (failed(family))
    return fault("the module has no layout family; start from a file that moec wrote");
  return PackPlanner(module, *family).run(partBytes);
}

} // namespace moec
