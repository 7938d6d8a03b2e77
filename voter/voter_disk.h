// What a voter keeps in its folder, so that a crash loses nothing that it told anybody.
//
//   vote          its id, its log's, its term and vote; replaced as a whole
//   log.NNNNNN    the log, see segments.h
//   damaged-N     what was no longer whole. Nothing reads it
//
// A log counts once the vote names it. What stands in a log's files is dropped by whole files, so
// after a restart the log may begin lower than before: the entries below are committed ones.
//
// A voter whose files are damaged must not vote: it may have forgotten what it promised. It begins
// anew as another voter, which its leader admits once it has copied the log.
//
// Threads: one at a time.   Units: bytes.
// Errors: of the files, as file_port.h says; then closed, for good.
// Seed: "Leader and Followers" (what a follower acknowledges is on its disk).
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <string>
#include <vector>

#include "quorum/encoding.h"
#include "quorum/voter.h"
#include "voter/file_port.h"
#include "voter/segments.h"

namespace neliroute {

struct OpenedDisk;

class VoterDisk {
 public:
  /// From here on a new file is begun.
  static constexpr std::size_t kSegmentBytes = std::size_t{4} << 20;

  /// Makes the folder if it is not there; no other process may use it until this object is
  /// destroyed. `draw_id`: an id that no voter ever had.
  [[nodiscard]] static Result<OpenedDisk> open(FilePort& files, std::string folder,
                                               const std::function<quorum::VoterId()>& draw_id,
                                               std::size_t segment_bytes = kSegmentBytes);

  /// Stores what `ready` names of `voter`. When it returns without an error, that is on disk. After
  /// an error nothing is stored any more, as nobody knows what is on disk.
  [[nodiscard]] Result<void> store(const quorum::Ready& ready, const quorum::Durable& voter);
  /// Of the log's files.
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct Kept {
    std::uint64_t number = 0;
    quorum::Index first = 0;
    /// Once the next one is begun.
    std::size_t bytes = 0;
  };
  struct Loaded;

  VoterDisk(FilePort& files, std::string folder, std::unique_ptr<FolderLock> lock,
            std::size_t segment_bytes);
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // Opening.
  [[nodiscard]] Result<Loaded> load();
  [[nodiscard]] Result<Loaded> load_vote(const std::vector<std::uint64_t>& numbers);
  [[nodiscard]] Result<Loaded> load_log(const quorum::Vote& vote,
                                        const std::vector<std::uint64_t>& numbers);
  [[nodiscard]] Result<void> end_log(SegmentReader& reader, std::size_t bytes);
  [[nodiscard]] Result<std::string> set_aside();
  // Storing.
  [[nodiscard]] Result<void> store_all(const quorum::Ready& ready, const quorum::Durable& voter);
  [[nodiscard]] Result<void> store_vote(const quorum::Durable& voter);
  [[nodiscard]] Result<void> store_entries(const quorum::Durable& voter, quorum::Index from,
                                           bool anew);
  [[nodiscard]] Result<void> begin_segment(const quorum::Segment& segment);
  [[nodiscard]] Result<void> write_segment(const std::string& path, const std::string& bytes);
  [[nodiscard]] Result<void> append(const quorum::Batch& batch);
  [[nodiscard]] Result<void> drop(quorum::Index first);

  FilePort* files_;
  std::string folder_;
  std::unique_ptr<FolderLock> lock_;
  std::size_t segment_bytes_;
  /// In the order of their numbers. None: there is no log.
  std::deque<Kept> segments_;
  /// The last one of them.
  std::unique_ptr<File> last_;
  std::size_t last_bytes_ = 0;
  quorum::Index end_ = 0;
  bool failed_ = false;
};

struct OpenedDisk {
  VoterDisk disk;
  quorum::Durable durable;
  /// What an operator should know: that files were damaged, and where they are.
  std::vector<Notice> notices;
};

}  // namespace neliroute
