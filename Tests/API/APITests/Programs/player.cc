// C++: a player class that owns its queue, with a std::vector of samples and a std::thread.
#include "check.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace {

/// Plays a sound once. The destructor disposes of the queue.
class Player {
public:
  explicit Player(std::vector<float> sound, CFRunLoopRef loop = nullptr)
      : sound_(std::move(sound)) {
    const AudioStreamBasicDescription format = float_format(RATE, 2);
    WORKS(AudioQueueNewOutput(&format, &Player::played, this, loop, nullptr, 0, &queue_));
    WORKS(AudioQueueAddPropertyListener(queue_, kAudioQueueProperty_IsRunning, &Player::changed,
                                        this));
  }
  ~Player() { AudioQueueDispose(queue_, true); }
  Player(const Player &) = delete;
  Player &operator=(const Player &) = delete;

  void play() {
    for (int i = 0; i < 3; ++i) {
      AudioQueueBufferRef buffer = nullptr;
      WORKS(AudioQueueAllocateBuffer(queue_, 4000 * FRAME_BYTES, &buffer));
      buffer->mUserData = this;
      fill(buffer);
    }
    WORKS(AudioQueueStart(queue_, nullptr));
  }
  bool isOver() const { return isOver_; }

private:
  void fill(AudioQueueBufferRef buffer) {
    CHECK(buffer->mUserData == this);
    const size_t room = buffer->mAudioDataBytesCapacity / sizeof(float);
    const size_t count = std::min(room, sound_.size() - next_);
    if (count == 0) {
      WORKS(AudioQueueStop(queue_, false));
      return;
    }
    std::copy_n(sound_.begin() + (ptrdiff_t)next_, count, static_cast<float *>(buffer->mAudioData));
    buffer->mAudioDataByteSize = static_cast<UInt32>(count * sizeof(float));
    WORKS(AudioQueueEnqueueBuffer(queue_, buffer, 0, nullptr));
    next_ += count;
  }
  static void played(void *self, AudioQueueRef, AudioQueueBufferRef buffer) {
    static_cast<Player *>(self)->fill(buffer);
  }
  static void changed(void *self, AudioQueueRef queue, AudioQueuePropertyID) {
    if (!is_running(queue)) static_cast<Player *>(self)->isOver_ = true;
  }

  AudioQueueRef queue_ = nullptr;
  std::vector<float> sound_;
  size_t next_ = 0;
  std::atomic<bool> isOver_{false};
};

std::vector<float> makeSound(long frames) {
  std::vector<float> sound;
  for (long i = 0; i < frames; ++i) {
    sound.push_back(wave(i));
    sound.push_back(-wave(i));
  }
  return sound;
}

} // namespace

int main() {
  cue_capture *card = open_card(10);
  {
    Player player(makeSound(30000));
    player.play();
    WAIT(player.isOver());
    end_recording(card);
    HEAR(card, find_sound(card, 0), 0, 30000);
  }
  passed("an object that plays");

  // An object destroyed during playback receives no more callbacks.
  for (int i = 0; i < 5; ++i) {
    auto player = std::make_unique<Player>(makeSound(100000));
    player->play();
    usleep(30000);
  }
  passed("an object that goes while it plays");

  // On a thread with its own run loop.
  cue_capture_arm(card);
  std::thread thread([] {
    Player player(makeSound(30000), CFRunLoopGetCurrent());
    player.play();
    RUN_LOOP_UNTIL(player.isOver());
  });
  thread.join();
  end_recording(card);
  HEAR(card, find_sound(card, 0), 0, 30000);
  passed("a std::thread with a run loop");
  cue_capture_close(card);
}
