// A class that plays a sound file through an audio queue, and a program that obeys typed commands.
//
// Usage: player-class FILE
//
// Commands, a line each:
//   start   plays from the beginning; after a pause, from where it was
//   pause   keeps the place
//   stop    ends at once
//   loop    begins again at the end of the file, without a gap
//   once    ends at the end of the file
//   quit    ends the program
//
// When the input ends, the program waits until the sound has ended.
//
// Build it with make. Run it on a JACK server, for example:
//   (echo start; sleep 2; echo pause; sleep 1; echo start) | ./player-class take.wav
//
// The queue calls back on the run loop of the main thread, which obeys the commands, too. So the
// class needs no lock. It plays every format that the library can decode.

#include <AudioToolbox/AudioToolbox.h>

#include <array>
#include <cstdio>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/// A call that failed.
class CallError : public std::runtime_error {
public:
  CallError(const char *call, OSStatus status)
      : std::runtime_error(std::string(call) + ": " + std::to_string(status)) {}
};

/// Throws if the call fails.
#define TRY(function, ...)                                                                         \
  do {                                                                                             \
    if (OSStatus status_ = function(__VA_ARGS__)) throw CallError(#function, status_);             \
  } while (0)

// MARK: The class

/// Plays one file at a time. It belongs to the thread that creates its queues, which must run its
/// run loop.
class Player {
public:
  /// Called when a run has ended, for whatever reason.
  std::function<void()> ended;
  /// Called with an error in a callback, which has no caller to throw it to. The run has ended.
  std::function<void(const CallError &)> failed;
  /// Begins again at the end of the file. Has an effect from the next buffer on.
  bool isLooping = false;

  Player() = default;
  Player(const Player &) = delete;
  Player &operator=(const Player &) = delete;
  ~Player() { disposeQueue(); }

  /// Opens a file and makes a queue for its format, in place of the former ones.
  void createQueueForFile(CFURLRef url);
  void disposeQueue();

  /// Plays from the beginning, or from where a pause was.
  void start();
  void pause() {
    TRY(AudioQueuePause, queue);
    isPaused = true;
  }
  void stop() {
    isAtEnd = true;
    isStarted = isPaused = false;
    TRY(AudioQueueStop, queue, true);
  }
  /// True from the start to the end of the last frame, also in a pause.
  bool isRunning() const { return isStarted; }

private:
  /// Enough buffers to refill one while the others play.
  static constexpr int bufferCount = 3;
  static constexpr double bufferSeconds = 0.25;

  AudioFileID file = nullptr;
  AudioStreamBasicDescription format{};
  AudioQueueRef queue = nullptr;
  std::array<AudioQueueBufferRef, bufferCount> buffers{};
  UInt32 packetsPerBuffer = 0;
  /// The next packet to read.
  SInt64 nextPacket = 0;
  bool isAtEnd = true, isStarted = false, isPaused = false;

  void copyMagicCookie();
  void allocateBuffers();
  void fill(AudioQueueBufferRef buffer);

  static void played(void *object, AudioQueueRef, AudioQueueBufferRef buffer) {
    auto player = static_cast<Player *>(object);
    try {
      player->fill(buffer);
    } catch (const CallError &error) {
      player->isAtEnd = true;
      AudioQueueStop(player->queue, true);
      if (player->failed) player->failed(error);
    }
  }

  static void runningChanged(void *object, AudioQueueRef queue, AudioQueuePropertyID property) {
    auto player = static_cast<Player *>(object);
    UInt32 isRunning = 0, size = sizeof isRunning;
    if (AudioQueueGetProperty(queue, property, &isRunning, &size) || isRunning) return;
    // This may come late, after another start.
    if (!player->isAtEnd) return;
    player->isStarted = false;
    if (player->ended) player->ended();
  }
};

void Player::createQueueForFile(CFURLRef url) {
  disposeQueue();
  TRY(AudioFileOpenURL, url, kAudioFileReadPermission, 0, &file);
  UInt32 size = sizeof format;
  TRY(AudioFileGetProperty, file, kAudioFilePropertyDataFormat, &size, &format);
  TRY(AudioQueueNewOutput, &format, played, this, CFRunLoopGetCurrent(), kCFRunLoopCommonModes, 0,
      &queue);
  TRY(AudioQueueAddPropertyListener, queue, kAudioQueueProperty_IsRunning, runningChanged, this);
  copyMagicCookie();
  allocateBuffers();
}

void Player::disposeQueue() {
  // Disposing of the queue frees its buffers.
  if (queue) AudioQueueDispose(queue, true);
  if (file) AudioFileClose(file);
  queue = nullptr;
  file = nullptr;
  isAtEnd = true;
  isStarted = isPaused = false;
}

/// Passes the file's magic cookie to the queue's decoder. Linear PCM has none.
void Player::copyMagicCookie() {
  UInt32 size = 0;
  if (AudioFileGetPropertyInfo(file, kAudioFilePropertyMagicCookieData, &size, nullptr) || !size)
    return;
  std::vector<char> cookie(size);
  TRY(AudioFileGetProperty, file, kAudioFilePropertyMagicCookieData, &size, cookie.data());
  TRY(AudioQueueSetProperty, queue, kAudioQueueProperty_MagicCookie, cookie.data(), size);
}

/// Allocates buffers of bufferSeconds, or of 64 KiB if the packets' duration varies.
void Player::allocateBuffers() {
  UInt32 packet = 0, size = sizeof packet;
  TRY(AudioFileGetProperty, file, kAudioFilePropertyPacketSizeUpperBound, &size, &packet);
  if (packet == 0) throw CallError("PacketSizeUpperBound", kAudioFileInvalidFileError);
  double packets = format.mFramesPerPacket > 0
                       ? format.mSampleRate * bufferSeconds / format.mFramesPerPacket
                       : 65536.0 / packet;
  packetsPerBuffer = packets < 1 ? 1 : static_cast<UInt32>(packets);
  // Packets of variable size or duration need descriptions.
  bool isVariable = format.mBytesPerPacket == 0 || format.mFramesPerPacket == 0;
  for (auto &buffer : buffers)
    TRY(AudioQueueAllocateBufferWithPacketDescriptions, queue, packetsPerBuffer * packet,
        isVariable ? packetsPerBuffer : 0, &buffer);
}

/// Enqueues a buffer with the file's next packets. At the end of the file, goes on at its
/// beginning, or stops the queue after its last frame.
void Player::fill(AudioQueueBufferRef buffer) {
  if (isAtEnd) return;
  UInt32 bytes = 0, packets = 0;
  // Twice at most: an empty file has no packets at its beginning, either.
  for (int attempt = 0; attempt < 2; attempt++) {
    bytes = buffer->mAudioDataBytesCapacity;
    packets = packetsPerBuffer;
    TRY(AudioFileReadPacketData, file, false, &bytes, buffer->mPacketDescriptions, nextPacket,
        &packets, buffer->mAudioData);
    if (packets > 0 || !isLooping) break;
    nextPacket = 0;
  }
  if (packets == 0) {
    isAtEnd = true;
    TRY(AudioQueueStop, queue, false);
    return;
  }
  buffer->mAudioDataByteSize = bytes;
  TRY(AudioQueueEnqueueBuffer, queue, buffer, buffer->mPacketDescriptions ? packets : 0,
      buffer->mPacketDescriptions);
  nextPacket += packets;
}

void Player::start() {
  if (!isStarted) {
    nextPacket = 0;
    isAtEnd = false;
    isStarted = true;
    for (auto buffer : buffers)
      fill(buffer);
  } else if (!isPaused) {
    return;
  }
  isPaused = false;
  TRY(AudioQueueStart, queue, nullptr);
}

// MARK: The program

/// Obeys a command.
static void obey(Player &player, const std::string &command) {
  if (command == "start")
    player.start();
  else if (command == "pause")
    player.pause();
  else if (command == "stop")
    player.stop();
  else if (command == "loop" || command == "once")
    player.isLooping = command == "loop";
  else if (command == "quit")
    CFRunLoopStop(CFRunLoopGetCurrent());
  else if (!command.empty())
    std::cerr << "player-class: there is no command “" << command << "”\n";
}

int main(int argc, char **argv) {
  if (argc != 2) {
    std::cerr << "usage: player-class FILE\n";
    return 64;
  }
  std::string path = argv[1];
  // The run loop's thread alone uses these.
  static Player player;
  static bool inputHasEnded = false;
  static int result = 0;
  static auto report = [](const CallError &error) {
    std::cerr << "player-class: " << error.what() << "\n";
    result = 1;
    CFRunLoopStop(CFRunLoopGetMain());
  };
  player.failed = report;
  player.ended = [] {
    if (inputHasEnded) CFRunLoopStop(CFRunLoopGetMain());
  };
  CFURLRef url =
      CFURLCreateFromFileSystemRepresentation(nullptr, reinterpret_cast<const UInt8 *>(path.data()),
                                              static_cast<CFIndex>(path.size()), false);
  try {
    player.createQueueForFile(url);
    CFRelease(url);
  } catch (const CallError &error) {
    return report(error), 1;
  }

  /// Calls a block on the run loop of the main thread.
  static auto perform = [](void (^block)(void)) {
    CFRunLoopPerformBlock(CFRunLoopGetMain(), kCFRunLoopCommonModes, block);
    CFRunLoopWakeUp(CFRunLoopGetMain());
  };
  // Reading waits for the next line, so it has a thread of its own.
  std::thread([] {
    for (std::string line; std::getline(std::cin, line);) {
      perform(^{
        try {
          obey(player, line);
        } catch (const CallError &error) {
          report(error);
        }
      });
    }
    perform(^{
      inputHasEnded = true;
      if (!player.isRunning()) CFRunLoopStop(CFRunLoopGetMain());
    });
  }).detach();
  CFRunLoopRun();
  player.disposeQueue();
  return result;
}
