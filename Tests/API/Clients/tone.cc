// A tone generator in C++: an object for the queue, a run loop with a timer, and buffers that are
// primed by calling the callback by hand.
//
// Usage: tone PERIOD FRAMES [RATE]
#include <AudioToolbox/AudioToolbox.h>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

class QueueError : public std::runtime_error {
public:
  QueueError(const char *call, OSStatus status)
      : std::runtime_error(std::string(call) + ": " + std::to_string(status)) {}
};

#define THROW_IF(call)                                                                             \
  do {                                                                                             \
    if (OSStatus status = (call)) throw QueueError(#call, status);                                 \
  } while (0)

class Tone {
public:
  Tone(double rate, int period, long frames) : period(period), left(frames) {
    AudioStreamBasicDescription format = {};
    format.mSampleRate = rate;
    format.mFormatID = kAudioFormatLinearPCM;
    format.mFormatFlags =
        kAudioFormatFlagIsSignedInteger | kAudioFormatFlagsNativeEndian | kAudioFormatFlagIsPacked;
    format.mBitsPerChannel = 16;
    format.mChannelsPerFrame = 1;
    format.mFramesPerPacket = 1;
    format.mBytesPerFrame = format.mBytesPerPacket = 2;
    THROW_IF(AudioQueueNewOutput(&format, refill, this, CFRunLoopGetCurrent(),
                                 kCFRunLoopDefaultMode, 0, &queue));
    THROW_IF(AudioQueueAddPropertyListener(queue, kAudioQueueProperty_IsRunning, changed, this));
    for (auto &buffer : buffers)
      THROW_IF(AudioQueueAllocateBuffer(queue, framesPerBuffer * 2, &buffer));
  }
  Tone(const Tone &) = delete;
  Tone &operator=(const Tone &) = delete;
  ~Tone() { AudioQueueDispose(queue, true); }

  void start() {
    for (auto buffer : buffers)
      refill(this, queue, buffer);
    UInt32 prepared = 0;
    THROW_IF(AudioQueuePrime(queue, 0, &prepared));
    THROW_IF(AudioQueueStart(queue, nullptr));
  }

  bool isPlaying() const { return !hasEnded; }

private:
  static constexpr UInt32 framesPerBuffer = 6000;
  AudioQueueRef queue = nullptr;
  std::array<AudioQueueBufferRef, 3> buffers{};
  int period;
  long left, position = 0;
  bool isOver = false, hasStarted = false, hasEnded = false;

  /// A sawtooth that is never 0, so that each frame can be heard.
  int16_t next() { return static_cast<int16_t>(100 * (position++ % period + 1)); }

  static void refill(void *user, AudioQueueRef queue, AudioQueueBufferRef buffer) {
    auto self = static_cast<Tone *>(user);
    if (self->isOver) return;
    auto samples = static_cast<int16_t *>(buffer->mAudioData);
    UInt32 frames = 0;
    for (; frames < framesPerBuffer && self->left > 0; frames++, self->left--)
      samples[frames] = self->next();
    if (frames == 0) {
      self->isOver = true;
      AudioQueueStop(queue, false);
      return;
    }
    buffer->mAudioDataByteSize = frames * 2;
    AudioQueueEnqueueBuffer(queue, buffer, 0, nullptr);
  }

  static void changed(void *user, AudioQueueRef queue, AudioQueuePropertyID property) {
    auto self = static_cast<Tone *>(user);
    UInt32 running = 0, size = sizeof running;
    if (AudioQueueGetProperty(queue, property, &running, &size) != noErr) return;
    if (running)
      self->hasStarted = true;
    else if (self->hasStarted)
      self->hasEnded = true;
  }
};

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: tone PERIOD FRAMES [RATE]\n");
    return 2;
  }
  try {
    Tone tone(argc > 3 ? std::atof(argv[3]) : 48000, std::atoi(argv[1]), std::atol(argv[2]));
    tone.start();
    while (tone.isPlaying())
      CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.25, false);
  } catch (const QueueError &error) {
    std::fprintf(stderr, "tone: %s\n", error.what());
    return 1;
  }
  return 0;
}
