#include "voter/voter_disk.h"

#include <algorithm>
#include <neliroute/detail/assert.h>
#include <utility>

#include "voter/frame.h"

namespace neliroute {

using quorum::Durable;
using quorum::EntryLog;
using quorum::Index;
using quorum::Vote;

namespace {

constexpr const char* kVote = "vote";
constexpr const char* kNewVote = "vote.new";

std::vector<quorum::Entry> entries_from(const EntryLog& log, Index from) {
  std::vector<quorum::Entry> entries;
  for (Index i = from; i < log.end(); ++i) {
    entries.push_back(log.at(i));
  }
  return entries;
}

std::vector<std::uint64_t> segments_in(const std::vector<std::string>& names) {
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : names) {
    if (const auto number = segment_number(name)) {
      numbers.push_back(*number);
    }
  }
  std::ranges::sort(numbers);
  return numbers;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

/// What is in the folder; without `durable`, nothing that can be used.
struct VoterDisk::Loaded {
  std::optional<Durable> durable;
  std::optional<Damage> damage;
};

VoterDisk::VoterDisk(FilePort& files, std::string folder, std::unique_ptr<FolderLock> lock,
                     std::size_t segment_bytes)
    : files_(&files),
      folder_(std::move(folder)),
      lock_(std::move(lock)),
      segment_bytes_(segment_bytes) {}

// --- Opening -------------------------------------------------------------------------------------

Result<OpenedDisk> VoterDisk::open(FilePort& files, std::string folder,
                                   const std::function<quorum::VoterId()>& draw_id,
                                   std::size_t segment_bytes) {
  if (const auto made = files.make_folder(folder); !made) {
    return made.error();
  }
  auto lock = files.lock(folder);
  if (!lock) {
    return lock.error();
  }
  VoterDisk disk(files, std::move(folder), std::move(*lock), segment_bytes);
  auto loaded = disk.load();
  if (!loaded) {
    return loaded.error();
  }
  std::vector<Notice> notices;
  if (loaded->damage) {
    const auto aside = disk.set_aside();
    if (!aside) {
      return aside.error();
    }
    const Damage& damage = *loaded->damage;
    notices.push_back({Severity::error, "`" + disk.path(damage.file) + "` is damaged at byte " +
                                            std::to_string(damage.offset) + ": " + damage.what +
                                            ". The voter's files are now in `" + *aside +
                                            "`, and it begins anew: it copies the log from the "
                                            "others, and votes again once it is admitted"});
  }
  if (!loaded->durable) {
    loaded->durable.emplace();
    loaded->durable->self = draw_id();
    if (const auto stored = disk.store_vote(*loaded->durable); !stored) {
      return stored.error();
    }
  }
  return OpenedDisk{std::move(disk), std::move(*loaded->durable), std::move(notices)};
}

Result<VoterDisk::Loaded> VoterDisk::load() {
  const auto names = files_->list(folder_);
  if (!names) {
    return names.error();
  }
  if (contains(*names, kNewVote)) {  // it was never the vote
    if (const auto removed = files_->remove(path(kNewVote)); !removed) {
      return removed.error();
    }
  }
  const auto numbers = segments_in(*names);
  if (contains(*names, kVote)) {
    return load_vote(numbers);
  }
  if (numbers.empty()) {
    return Loaded{};
  }
  return Loaded{std::nullopt, Damage{kVote, 0, "it is missing, though there is a log"}};
}

Result<VoterDisk::Loaded> VoterDisk::load_vote(const std::vector<std::uint64_t>& numbers) {
  const auto bytes = files_->read(path(kVote));
  if (!bytes) {
    return bytes.error();
  }
  const auto frame = frame_at(*bytes, 0);
  if (frame && frame->front() != quorum::kFormat) {
    return Error(Errc::bad_option, "`" + path(kVote) +
                                       "` was written by another version of this program; use "
                                       "that one, or give this voter an empty folder");
  }
  const auto vote = frame ? quorum::decode_vote(*frame) : std::nullopt;
  if (!vote || bytes->size() != kFrameHeadBytes + frame->size()) {
    return Loaded{std::nullopt, Damage{kVote, 0, "it is not whole"}};
  }
  if (vote->log) {
    return load_log(*vote, numbers);
  }
  // A log that was about to begin: nobody was told of it.
  for (const std::uint64_t number : numbers) {
    if (const auto removed = files_->remove(path(segment_name(number))); !removed) {
      return removed.error();
    }
  }
  if (const auto synced = files_->sync_folder(folder_); !synced) {
    return synced.error();
  }
  return Loaded{Durable{vote->self, vote->log, vote->term, vote->voted_for, EntryLog()},
                std::nullopt};
}

Result<VoterDisk::Loaded> VoterDisk::load_log(const Vote& vote,
                                              const std::vector<std::uint64_t>& numbers) {
  const auto missing = [](std::uint64_t number) {
    return Loaded{std::nullopt, Damage{segment_name(number), 0, "it is missing"}};
  };
  if (numbers.empty()) {
    return missing(1);
  }
  SegmentReader reader(vote);
  std::size_t size = 0;
  for (const std::uint64_t number : numbers) {
    if (!segments_.empty() && number != segments_.back().number + 1) {
      return missing(segments_.back().number + 1);
    }
    const std::string name = segment_name(number);
    const auto bytes = files_->read(path(name));
    if (!bytes) {
      return bytes.error();
    }
    size = bytes->size();
    if (auto damage = reader.read(name, *bytes, number == numbers.back())) {
      return Loaded{std::nullopt, std::move(damage)};
    }
    if (reader.whole_bytes() == 0 && segments_.empty()) {
      return Loaded{std::nullopt, Damage{name, 0, "it is not whole"}};
    }
    if (!segments_.empty()) {
      segments_.back().bytes = last_bytes_;
    }
    segments_.push_back({number, reader.segment_first()});
    last_bytes_ = reader.whole_bytes() == 0 ? last_bytes_ : reader.whole_bytes();
  }
  if (const auto ended = end_log(reader, size); !ended) {
    return ended.error();
  }
  return Loaded{Durable{vote.self, vote.log, vote.term, vote.voted_for, std::move(reader.log())},
                std::nullopt};
}

/// Cuts off what was torn, and sees to it that what was read is on disk: a process that ended may
/// have written it, but not synced it. `bytes`: of the last file.
Result<void> VoterDisk::end_log(SegmentReader& reader, std::size_t bytes) {
  end_ = reader.log().end();
  if (reader.whole_bytes() == 0) {
    if (const auto removed = files_->remove(path(segment_name(segments_.back().number)));
        !removed) {
      return removed;
    }
    segments_.pop_back();
  }
  auto last = files_->open(path(segment_name(segments_.back().number)));
  if (!last) {
    return last.error();
  }
  last_ = std::move(*last);
  if (reader.whole_bytes() != 0 && reader.whole_bytes() < bytes) {
    if (const auto cut = last_->truncate(reader.whole_bytes()); !cut) {
      return cut;
    }
  }
  if (const auto synced = last_->sync(); !synced) {
    return synced;
  }
  return files_->sync_folder(folder_);
}

/// Returns where to. The vote first: what is left then is no voter's.
Result<std::string> VoterDisk::set_aside() {
  segments_.clear();
  const auto names = files_->list(folder_);
  if (!names) {
    return names.error();
  }
  int n = 1;
  while (contains(*names, "damaged-" + std::to_string(n))) {
    ++n;
  }
  const std::string aside = path("damaged-" + std::to_string(n));
  if (const auto made = files_->make_folder(aside); !made) {
    return made.error();
  }
  const auto sync = [&] {
    const auto synced = files_->sync_folder(aside);
    return synced ? files_->sync_folder(folder_) : synced;
  };
  std::vector<std::string> moved;
  if (contains(*names, kVote)) {
    moved.emplace_back(kVote);
  }
  for (const std::uint64_t number : segments_in(*names)) {
    moved.push_back(segment_name(number));
  }
  for (const std::string& name : moved) {
    if (const auto renamed = files_->rename(path(name), aside + "/" + name); !renamed) {
      return renamed.error();
    }
    if (const auto synced = sync(); !synced) {
      return synced.error();
    }
  }
  return aside;
}

// --- Storing -------------------------------------------------------------------------------------

Result<void> VoterDisk::store(const quorum::Ready& ready, const Durable& voter) {
  if (failed_) {
    return Error(Errc::closed, "`" + folder_ +
                                   "` could not be written before, so nothing is stored there any "
                                   "more; restart this process");
  }
  auto stored = store_all(ready, voter);
  failed_ = stored.has_error();
  return stored;
}

std::size_t VoterDisk::bytes() const noexcept {
  std::size_t sum = segments_.empty() ? 0 : last_bytes_;
  for (std::size_t i = 0; i + 1 < segments_.size(); ++i) {
    sum += segments_[i].bytes;
  }
  return sum;
}

/// The vote first: no entry is of a term that it does not know. But a log begins before the vote
/// names it.
Result<void> VoterDisk::store_all(const quorum::Ready& ready, const Durable& voter) {
  const bool begins = voter.log && segments_.empty();
  if (ready.vote_changed && !begins) {
    if (auto stored = store_vote(voter); !stored) {
      return stored;
    }
  }
  if (ready.entries_changed) {
    const Index from = *ready.entries_changed;
    const bool anew = begins || (ready.start_changed && from <= voter.entries.first());
    if (auto stored = store_entries(voter, from, anew); !stored) {
      return stored;
    }
  }
  if (ready.vote_changed && begins) {
    if (auto stored = store_vote(voter); !stored) {
      return stored;
    }
  }
  return ready.start_changed ? drop(voter.entries.first()) : Result<void>();
}

Result<void> VoterDisk::store_vote(const Durable& voter) {
  const std::string bytes =
      framed(quorum::encode(Vote{voter.self, voter.log, voter.term, voter.voted_for}));
  const auto file = files_->open(path(kNewVote));
  if (!file) {
    return file.error();
  }
  if (auto written = (*file)->append(bytes); !written) {
    return written;
  }
  if (auto synced = (*file)->sync(); !synced) {
    return synced;
  }
  if (auto renamed = files_->rename(path(kNewVote), path(kVote)); !renamed) {
    return renamed;
  }
  return files_->sync_folder(folder_);
}

Result<void> VoterDisk::store_entries(const Durable& voter, Index from, bool anew) {
  const EntryLog& log = voter.entries;
  NELIROUTE_ASSERT(voter.log && (anew || (!segments_.empty() && from <= end_)),
                   "entries follow those on disk");
  from = anew ? log.first() : from;
  end_ = log.end();
  // What replaces entries of earlier files is no part of this one.
  if (anew || from < segments_.back().first || last_bytes_ >= segment_bytes_) {
    return begin_segment({*voter.log, anew, start_at(log, from), entries_from(log, from)});
  }
  return append({from, entries_from(log, from)});
}

Result<void> VoterDisk::begin_segment(const quorum::Segment& segment) {
  const std::uint64_t number = segments_.empty() ? 1 : segments_.back().number + 1;
  const std::string name = path(segment_name(number));
  const std::string bytes = framed(quorum::encode(segment));
  auto written = write_segment(name, bytes);
  if (!written) {
    (void)files_->remove(name);  // the next process must not take for stored what it finds
    return written;
  }
  if (!segments_.empty()) {
    segments_.back().bytes = last_bytes_;
  }
  segments_.push_back({number, segment.start.first});
  last_bytes_ = bytes.size();
  return written;
}

Result<void> VoterDisk::write_segment(const std::string& path, const std::string& bytes) {
  auto file = files_->open(path);
  if (!file) {
    return file.error();
  }
  last_ = std::move(*file);
  if (auto written = last_->append(bytes); !written) {
    return written;
  }
  if (auto synced = last_->sync(); !synced) {
    return synced;
  }
  return files_->sync_folder(folder_);
}

Result<void> VoterDisk::append(const quorum::Batch& batch) {
  const std::string bytes = framed(quorum::encode(batch));
  auto done = last_->append(bytes);
  if (done) {
    done = last_->sync();
  }
  if (!done) {
    (void)last_->truncate(last_bytes_);  // the next process must not take for stored what it finds
    return done;
  }
  last_bytes_ += bytes.size();
  return done;
}

/// Removes the files that only have entries below this one; one at a time, so that a crash leaves
/// no gap between those that are left.
Result<void> VoterDisk::drop(Index first) {
  const auto base = std::ranges::find_if(segments_.rbegin(), segments_.rend(),
                                         [&](const Kept& kept) { return kept.first <= first; });
  for (auto below = segments_.rend() - base; below > 1; --below) {
    if (auto removed = files_->remove(path(segment_name(segments_.front().number))); !removed) {
      return removed;
    }
    if (auto synced = files_->sync_folder(folder_); !synced) {
      return synced;
    }
    segments_.pop_front();
  }
  return {};
}

}  // namespace neliroute
