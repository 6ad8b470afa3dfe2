// SPDX-License-Identifier: Apache-2.0
/// \file
/// The data symbol `moert_model_v1`, field by field in the order of the ABI header. Main source:
/// include/moert/Generated.h.
#include "lib/Compiler/Descriptor.h"

#include "lib/Compiler/ModuleFiles.h"
#include "lib/Compiler/TokenEstimate.h"

#include "dialects/moe/MoeDialect.h"
#include "dialects/rt/RtDialect.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"

using namespace mlir;

namespace moec {

DescriptorContent describeModule(ModuleOp module) {
  DescriptorContent content;
  moert_model_descriptor &d = content.fixed;
  std::memcpy(d.magic, "MOERTMDL", 8);
  d.abi_version = MOERT_GENERATED_ABI_VERSION;
  d.struct_bytes = sizeof(moert_model_descriptor);
  content.modelName = textOf(module, "moe.model", "name");
  content.targetName = textOf(module, "moe.target", "name");
  auto model = [&](llvm::StringRef key) { return static_cast<uint32_t>(integerOf(module, "moe.model", key)); };
  auto plan = [&](llvm::StringRef key) { return static_cast<uint64_t>(integerOf(module, "rt.plan", key)); };
  d.vocab_size = model("vocab_size");
  d.hidden_size = model("hidden_size");
  d.num_layers = model("num_layers");
  d.num_experts = model("num_experts");
  d.top_k = model("top_k");
  d.context = static_cast<uint32_t>(contextOf(module));
  d.window = static_cast<uint32_t>(plan("kv_window"));
  d.sinks = static_cast<uint32_t>(plan("kv_sinks"));
  d.max_chunk = static_cast<uint32_t>(plan("chunk"));
  d.head_rows = static_cast<uint32_t>(plan("head_rows"));
  d.hidden_offset = plan("hidden_offset");
  d.logits_offset = plan("logits_offset");
  d.maxima_offset = plan("maxima_offset");
  d.plan = {plan("arena_bytes"),    plan("resident_bytes"),
            plan("kv_block_bytes"), plan("state_bytes"),
            plan("record_bytes"),   plan("num_expert_records"),
            plan("min_slots"),      static_cast<uint64_t>(integerOf(module, "moe.options", "memory_bytes"))};
  describeTokenWeights(module, d);
  if (auto target = recordedTarget(module)) {
    if (const auto &rate = knownMemoryRate(target->machine))
      d.memory_bytes_per_second = rate->value;
    if (const auto &rate = knownFlashRate(target->machine))
      d.flash_bytes_per_second = rate->value;
  } else {
    llvm::consumeError(target.takeError()); // the link step says so
  }
  d.generation.temperature = static_cast<float>(realOf(module, "moe.generation", "temperature"));
  d.generation.top_p = static_cast<float>(realOf(module, "moe.generation", "top_p"));
  d.generation.top_k = static_cast<int32_t>(integerOf(module, "moe.generation", "top_k"));
  if (auto generation = module->getAttrOfType<DictionaryAttr>("moe.generation"))
    if (auto stops = generation.getAs<DenseI64ArrayAttr>("stop_ids"))
      for (int64_t id : stops.asArrayRef())
        content.stopIds.push_back(static_cast<int32_t>(id));
  return content;
}

namespace {

/// Collects the fields of a constant struct, then builds the global.
class ConstantStruct {
public:
  ConstantStruct(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  void integer(unsigned bits, uint64_t value) {
    Type type = builder.getIntegerType(bits);
    add(LLVM::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, APInt(bits, value))));
  }
  void real(float value) {
    add(LLVM::ConstantOp::create(builder, loc, builder.getF32Type(), builder.getF32FloatAttr(value)));
  }
  void bytes(llvm::ArrayRef<uint8_t> values) {
    for (uint8_t value : values)
      integer(8, value);
  }
  void pointer(llvm::StringRef symbol) {
    Type type = LLVM::LLVMPointerType::get(builder.getContext());
    if (symbol.empty())
      add(LLVM::ZeroOp::create(builder, loc, type));
    else
      add(LLVM::AddressOfOp::create(builder, loc, type, symbol));
  }
  Type type() {
    SmallVector<Type> types;
    for (Value field : fields)
      types.push_back(field.getType());
    return LLVM::LLVMStructType::getLiteral(builder.getContext(), types);
  }
  Value build() {
    Value value = LLVM::UndefOp::create(builder, loc, type());
    for (auto [index, field] : llvm::enumerate(fields))
      value = LLVM::InsertValueOp::create(builder, loc, value, field, ArrayRef<int64_t>{int64_t(index)});
    return value;
  }

private:
  void add(Value value) { fields.push_back(value); }
  OpBuilder &builder;
  Location loc;
  SmallVector<Value> fields;
};

/// A private constant of bytes; empty content gives no symbol.
std::string addBytes(OpBuilder &builder, Location loc, llvm::StringRef name, llvm::StringRef content,
                     uint64_t alignment, llvm::StringRef section = "") {
  if (content.empty())
    return "";
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), content.size());
  auto global = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                                       builder.getStringAttr(content), alignment);
  if (!section.empty())
    global.setSection(section);
  return name.str();
}

template <typename T> llvm::StringRef bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

std::string zeroTerminated(const std::string &text) { return text + '\0'; }

} // namespace

OwningOpRef<ModuleOp> buildDescriptorModule(MLIRContext &context, const DescriptorContent &content) {
  context.loadDialect<LLVM::LLVMDialect>();
  Location loc = UnknownLoc::get(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  std::string modelName = addBytes(builder, loc, "model_name", zeroTerminated(content.modelName), 1);
  std::string targetName = addBytes(builder, loc, "target_name", zeroTerminated(content.targetName), 1);
  std::string report = addBytes(builder, loc, "report_json", zeroTerminated(content.reportJson), 1, kReportSection);
  std::string tables = addBytes(builder, loc, "streamed_tables", bytesOf(content.tables), 8);
  std::string tokenizer = addBytes(builder, loc, "tokenizer_tables", bytesOf(content.tokenizer), 64);
  std::string stops = addBytes(builder, loc, "stop_ids", bytesOf(content.stopIds), 4);
  auto entryType = LLVM::LLVMFunctionType::get(builder.getI32Type(), {LLVM::LLVMPointerType::get(&context)});
  for (llvm::StringRef name : {"prefill", "decode", "head"})
    LLVM::LLVMFuncOp::create(builder, loc, name, entryType).setVisibility_(LLVM::Visibility::Hidden);

  const moert_model_descriptor &d = content.fixed;
  // Built once in a scratch block to learn the type, then in the global's own region.
  auto fill = [&](ConstantStruct &fields) {
    fields.bytes(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(d.magic), sizeof d.magic));
    for (uint32_t value : {d.abi_version, d.struct_bytes, d.features_required, d.layout_family})
      fields.integer(32, value);
    fields.pointer(modelName);
    fields.pointer(targetName);
    fields.bytes(d.plan_id);
    fields.bytes(d.weights_id);
    for (uint32_t value :
         {d.vocab_size, d.hidden_size, d.num_layers, d.num_experts, d.top_k, d.context, d.max_chunk, d.head_rows})
      fields.integer(32, value);
    for (uint64_t value : {d.hidden_offset, d.logits_offset, d.plan.arena_bytes, d.plan.resident_bytes,
                           d.plan.kv_block_bytes, d.plan.state_bytes, d.plan.record_bytes, d.plan.num_expert_records,
                           d.plan.min_slots, d.plan.default_budget_bytes})
      fields.integer(64, value);
    fields.integer(32, content.tables.size());
    fields.integer(32, 0);
    fields.pointer(tables);
    fields.pointer(tokenizer);
    fields.integer(64, content.tokenizer.size());
    fields.real(d.generation.temperature);
    fields.real(d.generation.top_p);
    fields.integer(32, static_cast<uint32_t>(d.generation.top_k));
    fields.integer(32, content.stopIds.size());
    fields.pointer(stops);
    for (llvm::StringRef name : {"prefill", "decode", "head"})
      fields.pointer(name);
    fields.pointer(report);
    for (uint32_t value : {d.window, d.sinks})
      fields.integer(32, value);
    for (uint64_t value :
         {d.maxima_offset, d.token_resident_bytes, d.expert_bytes, d.memory_bytes_per_second, d.flash_bytes_per_second})
      fields.integer(64, value);
  };
  Block scratch;
  OpBuilder scratchBuilder(&context);
  scratchBuilder.setInsertionPointToEnd(&scratch);
  ConstantStruct shape(scratchBuilder, loc);
  fill(shape);
  auto global = LLVM::GlobalOp::create(builder, loc, shape.type(), /*isConstant=*/true, LLVM::Linkage::External,
                                       "moert_model_v1", Attribute(), /*alignment=*/16);
  Block *body = builder.createBlock(&global.getInitializerRegion());
  builder.setInsertionPointToEnd(body);
  ConstantStruct fields(builder, loc);
  fill(fields);
  LLVM::ReturnOp::create(builder, loc, ValueRange{fields.build()});
  return module;
}

} // namespace moec
