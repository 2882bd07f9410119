#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "policy/replacement/replacement.h"

namespace nearfar::policy {

/// The resident pages of a policy in up to `Count` queues, and a little about each page.
///
/// One array of pairs links every queue: entry p holds the neighbours of page p, whichever queue it
/// is in. A second array has a byte a page: the queue in its low four bits (0: none), a mark of the
/// policy's own in the high four. A page that is in no queue needs no neighbours, so their place
/// holds a note about it (when it left, say); its mark stays. In all nine bytes a page, and every
/// operation touches at most three pages.
template <std::uint8_t Count>
class PageQueues {
 public:
  static_assert(Count < 16);
  static constexpr std::uint8_t none = 0;
  static constexpr std::uint8_t highest_mark = 15;

  void reserve(PageIndex pages) {
    if (pages <= links_.size()) return;
    links_.resize(pages);
    tags_.resize(pages);
  }

  [[nodiscard]] std::uint8_t queue_of(PageIndex page) const {
    return page < tags_.size() ? tags_[page] & 0x0f : none;
  }
  [[nodiscard]] bool holds(PageIndex page) const { return queue_of(page) != none; }
  [[nodiscard]] PageIndex size(std::uint8_t queue) const { return ends_[queue].size; }
  [[nodiscard]] PageIndex size() const { return size_; }

  /// The page that came first; no_page when the queue is empty.
  [[nodiscard]] PageIndex front(std::uint8_t queue) const { return ends_[queue].front; }
  /// The page that came last; no_page when the queue is empty.
  [[nodiscard]] PageIndex back(std::uint8_t queue) const { return ends_[queue].back; }

  /// The page is in no queue.
  void push_back(std::uint8_t queue, PageIndex page) {
    if (page >= links_.size()) reserve(page + 1);
    Ends& ends = ends_[queue];
    links_[page] = {ends.back, no_page};
    (ends.back == no_page ? ends.front : links_[ends.back].after) = page;
    ends.back = page;
    tags_[page] = static_cast<std::uint8_t>((tags_[page] & 0xf0) | queue);
    ++ends.size;
    ++size_;
  }

  /// The page is in a queue, and leaves it with no note.
  void remove(PageIndex page) {
    const Link link = links_[page];
    Ends& ends = ends_[queue_of(page)];
    (link.before == no_page ? ends.front : links_[link.before].after) = link.after;
    (link.after == no_page ? ends.back : links_[link.after].before) = link.before;
    tags_[page] &= 0xf0;
    links_[page] = {};
    --ends.size;
    --size_;
  }

  void move_to_back(std::uint8_t queue, PageIndex page) {
    remove(page);
    push_back(queue, page);
  }

  /// Takes the page out, if it is in, and what is known of it.
  void forget(PageIndex page) {
    if (page >= tags_.size()) return;
    if (holds(page)) remove(page);
    tags_[page] = 0;
    links_[page] = {};
  }

  /// 0 for a page that none was given.
  [[nodiscard]] std::uint8_t mark(PageIndex page) const {
    return page < tags_.size() ? tags_[page] >> 4 : 0;
  }
  /// The page has been in a queue before.
  void set_mark(PageIndex page, std::uint8_t mark) {
    if (page >= links_.size()) reserve(page + 1);
    tags_[page] = static_cast<std::uint8_t>((tags_[page] & 0x0f) | (mark << 4));
  }

  /// Of a page that is in no queue: what was noted since it left.
  [[nodiscard]] std::uint32_t note(PageIndex page) const { return links_[page].before; }
  void set_note(PageIndex page, std::uint32_t note) { links_[page].before = note; }

 private:
  struct Link {
    PageIndex before = no_page;
    PageIndex after = no_page;
  };
  struct Ends {
    PageIndex front = no_page;
    PageIndex back = no_page;
    PageIndex size = 0;
  };

  std::vector<Link> links_;
  std::vector<std::uint8_t> tags_;
  std::array<Ends, Count + std::size_t{1}> ends_{};
  PageIndex size_ = 0;
};

}  // namespace nearfar::policy
