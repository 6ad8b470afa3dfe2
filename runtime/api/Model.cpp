// SPDX-License-Identifier: Apache-2.0
/// \file
/// Opening and closing a model.
#include "runtime/api/Model.h"

#include "runtime/api/Features.h"
#include "runtime/base/Checked.h"
#include "runtime/base/Status.h"

#include <string.h>

namespace moert {

static uint32_t numExpertIndices(const moert_model_descriptor &d) {
  return d.plan.num_expert_records ? d.num_layers * d.num_experts : 0;
}

/// One function for measuring and for placing, so that they cannot differ.
static moert_model *placeModel(Carver &carver, const moert_model_descriptor &d, const Settings &settings,
                               ModelStorage &storage) {
  auto *model = carver.take<moert_model>(1);
  uint64_t numSlots = d.plan.num_expert_records, numExperts = numExpertIndices(d);
  storage.pager.records = carver.take<ExpertRecord>(numExperts);
  storage.pager.table.slotOf = carver.take<int32_t>(numExperts);
  storage.pager.table.slots = carver.take<PageSlot>(numSlots);
  storage.pager.eviction.place(carver, numExperts ? d.num_layers : 0, d.num_experts);
  storage.pager.queue = carver.take<int32_t>(numSlots);
  storage.pager.lanes = carver.take<Pager::Lane>(settings.readerLanes);
  storage.pager.transfers = carver.take<Transfer>(settings.readerLanes * Pager::kTransfersPerLane);
  storage.pager.scores = carver.take<ReadAhead::LayerScore>(d.plan.num_expert_records ? d.num_layers : 0);
  // The regions of experts have a group for each, and one for what runs beside them.
  uint64_t numGroups = d.plan.num_expert_records ? d.num_experts + 1ull : 0;
  storage.tasks = carver.take<TaskSlot>(maxOf(settings.threads, numGroups));
  storage.workers = carver.take<ThreadPool::Worker>(settings.threads);
  storage.manners = carver.take<Courtesy>(settings.threads);
  storage.tableOffsets = carver.take<uint64_t>(d.num_streamed_tables);
  storage.directoryPiece = carver.take<uint8_t>(kDirectoryPieceBytes);
  return model;
}

uint64_t measureModel(const moert_model_descriptor &d, const Settings &settings) {
  Carver carver = {nullptr, 0};
  ModelStorage storage;
  placeModel(carver, d, settings, storage);
  return carver.offset;
}

static moert_status createModel(const moert_model_descriptor &d, const Settings &settings, const Plan &plan,
                                const Hooks &hooks, moert_model *&model, moert_error *error) {
  Ledger ledger = {};
  ledger.initialize(plan.info.budget_bytes);
  ledger.obey(hooks);
  if (settings.locksMemory)
    ledger.lockRegions();
  Region book;
  char text[kSizeTextBytes];
  if (!ledger.take(plan.info.code_bytes + plan.pageTableBytes) ||
      !book.create(ledger, plan.modelBookBytes, Populate::Now)) {
    ledger.close();
    return fail(error, MOERT_STATUS_NO_MEMORY, "no memory for the model's tables (%s)%s",
                sizeText(plan.modelBookBytes, text), kWhenNoMemory);
  }
  Carver carver = {book.data, 0};
  ModelStorage storage;
  // A region is zero-filled, and zero is the initial state of everything in the model.
  model = placeModel(carver, d, settings, storage);
  model->descriptor = &d;
  model->settings = settings;
  model->plan = plan;
  model->hooks = hooks;
  model->ledger = ledger;
  model->book = book;
  model->storage = storage;
  return MOERT_STATUS_OK;
}

static moert_status fillModel(moert_model &model, const moert_open_options &options, moert_error *error) {
  const moert_model_descriptor &d = *model.descriptor;
  if (d.tokenizer.size_bytes) {
    if (const char *problem = model.tokenizer.open(d.tokenizer.data, d.tokenizer.size_bytes, d.vocab_size))
      return fail(error, MOERT_STATUS_CORRUPT, "the tokenizer tables of '%s' %s", d.model_name, problem);
    model.hasTokenizer = true;
  }
  if (moert_status status = model.pack.open(d, options, model.hooks, error))
    return status;
  if (moert_status status = loadDirectory(model, error))
    return status;
  if (!options.buffered_reads)
    model.pack.openDirect();
  if (d.plan.num_expert_records) {
    if (moert_status status = model.pager.create(model.ledger, model.pack, model.storage.pager, model.settings.eviction,
                                                 static_cast<moert_prediction>(model.settings.prediction), d.num_layers,
                                                 d.num_experts, static_cast<uint32_t>(model.plan.info.num_slots),
                                                 d.plan.record_bytes, model.hooks, error))
      return status;
    model.pager.probeDirect(model.pack);
  }
  if (moert_status status = loadResident(model, error))
    return status;
  // Its threads took from the ledger what these need now.
  if (d.plan.num_expert_records)
    if (moert_status status =
            model.pager.startLanes(model.ledger, model.settings.readerLanes, options.read_delay_us * 1000ull, error))
      return status;
  if (model.plan.info.num_slots < d.plan.num_expert_records)
    model.pool.shareWith(model.settings.readerLanes);
  if (moert_status status = model.pool.start(model.ledger, model.storage.tasks, model.storage.workers,
                                             model.storage.manners, model.settings.threads, model.settings.cpus, error))
    return status;
  if (!d.plan.num_expert_records || model.plan.info.num_slots < d.plan.num_expert_records)
    return MOERT_STATUS_OK;
  if (options.preload)
    return model.pager.loadAll(error);
  model.pager.loadAllLater();
  return MOERT_STATUS_OK;
}

moert_status openModel(const moert_model_descriptor &d, const moert_open_options *options, const Hooks &hooks,
                       moert_model **model, moert_error *error) {
  if (!model)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "the place for the model is null");
  *model = nullptr;
  moert_open_options copy;
  Settings settings;
  Plan plan;
  if (moert_status status = checkDescriptor(d, error))
    return status;
  if (moert_status status = checkFeatures(d, cpuFeatures(), error))
    return status;
  if (moert_status status = resolveOptions(d, options, copy, settings, error))
    return status;
  if (moert_status status = makePlan(d, settings, plan, error))
    return status;
  moert_model *opened = nullptr;
  if (moert_status status = createModel(d, settings, plan, hooks, opened, error))
    return status;
  if (moert_status status = fillModel(*opened, copy, error)) {
    closeModel(opened);
    return status;
  }
  *model = opened;
  return MOERT_STATUS_OK;
}

void closeModel(moert_model *model) {
  if (!model)
    return;
  model->pool.stop(model->ledger);
  model->pager.stop(model->ledger);
  model->resident.destroy(model->ledger);
  model->pack.close();
  Ledger ledger = model->ledger;
  Region book = model->book;
  book.destroy(ledger);
  ledger.close();
}

} // namespace moert
