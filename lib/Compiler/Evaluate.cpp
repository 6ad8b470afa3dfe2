// SPDX-License-Identifier: Apache-2.0
/// \file
/// Perplexity and divergence of a compiled model. Main source: docs/command-line.md ("moec evaluate").
#include "lib/Compiler/Evaluate.h"

#include "lib/Compiler/LoadedModel.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Files.h"
#include "lib/Support/Json.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace moec {

namespace {

constexpr uint64_t kDefaultWindow = 512;

/// log Σ e^x in double precision.
double logSumExp(llvm::ArrayRef<float> logits) {
  double largest = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (float value : logits)
    sum += std::exp(double(value) - largest);
  return largest + std::log(sum);
}

size_t argmax(llvm::ArrayRef<float> logits) { return std::max_element(logits.begin(), logits.end()) - logits.begin(); }

/// KL(p || q) of the distributions behind two rows of logits.
double divergence(llvm::ArrayRef<float> p, llvm::ArrayRef<float> q) {
  double logP = logSumExp(p), logQ = logSumExp(q), sum = 0;
  for (auto [a, b] : llvm::zip_equal(p, q)) {
    double share = std::exp(double(a) - logP);
    sum += share * ((double(a) - logP) - (double(b) - logQ));
  }
  return sum;
}

llvm::Expected<std::vector<int32_t>> readIds(llvm::StringRef path, uint32_t vocabSize) {
  auto root = parseJsonFile(path);
  if (!root)
    return root.takeError();
  const JsonArray *array = root->asArray();
  if (const JsonObject *object = root->asObject())
    if (const Json *ids = object->find("ids"))
      array = ids->asArray();
  if (!array)
    return fault(path + ": expects a list of token ids, or an object with a list 'ids'");
  std::vector<int32_t> ids;
  for (const Json &value : *array) {
    auto id = value.asInt64();
    if (!id || *id < 0 || *id >= int64_t(vocabSize))
      return fault(path + ": id number " + llvm::Twine(ids.size()) + " is " + value.describe() + ", expects 0 to " +
                   llvm::Twine(vocabSize - 1));
    ids.push_back(static_cast<int32_t>(*id));
  }
  return ids;
}

/// Sums over the windows of one evaluation.
class Evaluation {
public:
  Evaluation(LoadedModel &model, LoadedModel *reference) : model(model), reference(reference) {}

  llvm::Error addWindow(llvm::ArrayRef<int32_t> ids) {
    size_t vocab = model.vocabSize();
    std::vector<float> expected;
    if (reference) {
      expected.reserve((ids.size() - 1) * vocab);
      if (llvm::Error error = reference->run(ids.drop_back(), [&](uint64_t, llvm::ArrayRef<float> row) {
            expected.insert(expected.end(), row.begin(), row.end());
          }))
        return error;
    }
    return model.run(ids.drop_back(), [&](uint64_t position, llvm::ArrayRef<float> row) {
      nllSum += logSumExp(row) - double(row[ids[position + 1]]);
      ++positions;
      if (!reference)
        return;
      llvm::ArrayRef<float> wanted = llvm::ArrayRef(expected).slice(position * vocab, vocab);
      divergences.push_back(divergence(wanted, row));
      numAgreeing += argmax(wanted) == argmax(row);
    });
  }

  EvaluateResult result() {
    EvaluateResult result;
    result.positions = positions;
    result.expertsUsed = model.expertsUsed();
    result.expertsPerToken = model.expertsPerToken();
    result.nll = nllSum / double(positions);
    result.perplexity = std::exp(result.nll);
    if (!reference)
      return result;
    result.hasReference = true;
    for (double value : divergences)
      result.klMean += value / double(divergences.size());
    std::sort(divergences.begin(), divergences.end());
    result.klP99 = divergences[std::min(divergences.size() - 1, divergences.size() * 99 / 100)];
    result.top1Agreement = double(numAgreeing) / double(positions);
    return result;
  }

private:
  LoadedModel &model;
  LoadedModel *reference;
  double nllSum = 0;
  uint64_t positions = 0, numAgreeing = 0;
  std::vector<double> divergences;
};

} // namespace

llvm::Expected<EvaluateResult> evaluate(const EvaluateOptions &options, llvm::raw_ostream &progress) {
  auto model = LoadedModel::open(options.model, options.modelPack, options.threads, options.expertsUsed);
  if (!model)
    return model.takeError();
  std::optional<LoadedModel> reference;
  if (!options.reference.empty()) {
    auto opened = LoadedModel::open(options.reference, options.referencePack, options.threads);
    if (!opened)
      return opened.takeError();
    reference.emplace(std::move(*opened));
    if (reference->vocabSize() != model->vocabSize())
      return fault("the reference has a vocabulary of " + llvm::Twine(reference->vocabSize()) + ", the model of " +
                   llvm::Twine(model->vocabSize()));
  }
  std::vector<int32_t> ids;
  if (!options.idsFile.empty()) {
    auto read = readIds(options.idsFile, model->vocabSize());
    if (!read)
      return read.takeError();
    ids = std::move(*read);
  } else {
    auto text = readTextFile(options.textFile, uint64_t(1) << 30);
    if (!text)
      return text.takeError();
    auto tokens = model->tokenize(*text);
    if (!tokens)
      return tokens.takeError();
    ids = std::move(*tokens);
  }
  if (options.maxTokens && ids.size() > options.maxTokens)
    ids.resize(options.maxTokens);
  if (ids.size() < 2)
    return fault("evaluation needs at least two tokens, but got " + llvm::Twine(ids.size()));
  uint64_t window = options.window ? options.window : std::min<uint64_t>(kDefaultWindow, model->context());
  if (window < 2 || window > model->context())
    return fault("--window is " + llvm::Twine(window) + ", expects 2 to the context " + llvm::Twine(model->context()));
  Evaluation evaluation(*model, reference ? &*reference : nullptr);
  size_t numWindows = (ids.size() + window - 1) / window, done = 0;
  for (llvm::ArrayRef<int32_t> rest = ids; rest.size() >= 2;
       rest = rest.drop_front(std::min<size_t>(rest.size(), window))) {
    if (llvm::Error error = evaluation.addWindow(rest.take_front(window)))
      return std::move(error);
    progress << "moec: evaluate window " << ++done << " of " << numWindows << "\n";
  }
  return evaluation.result();
}

llvm::Expected<std::vector<EvaluateResult>> evaluateExpertsUsed(EvaluateOptions options, llvm::raw_ostream &progress) {
  std::vector<EvaluateResult> results;
  options.expertsUsed = 0;
  for (uint32_t divisor : {1u, 2u, 4u}) {
    if (divisor > 1) {
      options.expertsUsed = std::max(1u, results[0].expertsPerToken / divisor);
      if (options.expertsUsed == results.back().expertsUsed || results[0].expertsPerToken == 0)
        continue;
    }
    auto result = evaluate(options, progress);
    if (!result)
      return result.takeError();
    results.push_back(*result);
  }
  return results;
}

static JsonObject objectOf(const EvaluateResult &result) {
  auto orNull = [&](double value) { return result.hasReference ? Json(value) : Json(nullptr); };
  JsonObject object;
  object.set("experts_used", int64_t(result.expertsUsed))
      .set("experts_per_token", int64_t(result.expertsPerToken))
      .set("perplexity", result.perplexity)
      .set("nll", result.nll)
      .set("positions", result.positions)
      .set("kl_mean", orNull(result.klMean))
      .set("kl_p99", orNull(result.klP99))
      .set("top1_agreement", orNull(result.top1Agreement));
  return object;
}

std::string writeEvaluation(llvm::ArrayRef<EvaluateResult> results) {
  JsonObject object = objectOf(results[0]);
  if (results.size() > 1) {
    JsonArray sweep;
    for (const EvaluateResult &result : results)
      sweep.push_back(Json(objectOf(result)));
    object.set("experts_used_sweep", Json(std::move(sweep)));
  }
  return writeJson(std::move(object));
}

} // namespace moec
