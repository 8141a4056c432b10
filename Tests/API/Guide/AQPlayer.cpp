// The guide's listings of audio queues, as members of the class that it describes. Comments name
// the section of each; guide.md says what is mended.
#include <AudioToolbox/AudioToolbox.h>
#include <cstdlib>
#include <cstring>

namespace {

const int kNumberBuffers = 3;
const Float64 kBufferDurationSeconds = .5;

class AQPlayer {
public:
  void CreateQueueForFile(const char *filePath);
  void StartQueue();
  void PauseQueue();
  void StopQueue();
  void DisposeQueue(bool inDisposeFile);

private:
  void SetupNewQueue();
  void CalculateBytesForTime(AudioStreamBasicDescription &inDesc, UInt32 inMaxPacketSize,
                             Float64 inSeconds, UInt32 *outBufferSize, UInt32 *outNumPacketsToRead);
  static void isRunningProc(void *inAQObject, AudioQueueRef inAQ, AudioQueuePropertyID inID);
  static void AQBufferCallback(void *inAQObject, AudioQueueRef inAQ, AudioQueueBufferRef inBuffer);

  // Member variables
  AudioStreamBasicDescription mDataFormat;
  AudioQueueRef mQueue;
  AudioQueueBufferRef mBuffers[kNumberBuffers];
  AudioFileID mAudioFile;
  SInt64 mCurrentPacket;
  UInt32 mNumPacketsToRead;
  AudioStreamPacketDescription *mPacketDescs;
  bool mIsDone;
  UInt32 mIsRunning;
};

// Opening an audio file, creating the audio queue
void AQPlayer::CreateQueueForFile(const char *filePath) {
  CFURLRef audioFileURL = CFURLCreateFromFileSystemRepresentation(
      NULL, reinterpret_cast<const UInt8 *>(filePath), strlen(filePath), false);
  OSStatus result = AudioFileOpenURL(audioFileURL, fsRdPerm, 0, &mAudioFile);
  CFRelease(audioFileURL);
  if (result != noErr) return;
  UInt32 dataFormatSize = sizeof(mDataFormat);
  AudioFileGetProperty(mAudioFile, kAudioFilePropertyDataFormat, &dataFormatSize, &mDataFormat);
  AudioQueueNewOutput(&mDataFormat, AQBufferCallback, this, CFRunLoopGetCurrent(),
                      kCFRunLoopCommonModes, 0, &mQueue);
  SetupNewQueue();
}

// Setting the buffer size
void AQPlayer::CalculateBytesForTime(AudioStreamBasicDescription &inDesc, UInt32 inMaxPacketSize,
                                     Float64 inSeconds, UInt32 *outBufferSize,
                                     UInt32 *outNumPacketsToRead) {
  static const int maxBufferSize = 0x800;
  static const int minBufferSize = 0x100;
  if (inDesc.mFramesPerPacket != 0) {
    Float64 numPacketsForTime = inDesc.mSampleRate / inDesc.mFramesPerPacket * inSeconds;
    *outBufferSize = numPacketsForTime * inMaxPacketSize;
  } else {
    *outBufferSize = maxBufferSize > inMaxPacketSize ? maxBufferSize : inMaxPacketSize;
  }
  if (*outBufferSize > maxBufferSize && *outBufferSize > inMaxPacketSize) {
    *outBufferSize = maxBufferSize;
  } else {
    if (*outBufferSize < minBufferSize) *outBufferSize = minBufferSize;
  }
  *outNumPacketsToRead = *outBufferSize / inMaxPacketSize;
}

void AQPlayer::SetupNewQueue() {
  UInt32 maxPacketSize;
  UInt32 size = sizeof(maxPacketSize);
  AudioFileGetProperty(mAudioFile, kAudioFilePropertyPacketSizeUpperBound, &size, &maxPacketSize);
  UInt32 bufferSize;
  CalculateBytesForTime(mDataFormat, maxPacketSize, kBufferDurationSeconds, &bufferSize,
                        &mNumPacketsToRead);

  // Allocating buffers
  bool isFormatVBR = (mDataFormat.mBytesPerPacket == 0 || mDataFormat.mFramesPerPacket == 0);
  UInt32 numPacketDescs = isFormatVBR ? mNumPacketsToRead : 0;
  for (int iBuf = 0; iBuf < kNumberBuffers; ++iBuf) {
    AudioQueueAllocateBufferWithPacketDescriptions(mQueue, bufferSize, numPacketDescs,
                                                   &mBuffers[iBuf]);
  }

  // Setting a magic cookie
  size = sizeof(UInt32);
  OSStatus result =
      AudioFileGetPropertyInfo(mAudioFile, kAudioFilePropertyMagicCookieData, &size, NULL);
  if (result == noErr && size > 0) {
    char *cookie = new char[size];
    AudioFileGetProperty(mAudioFile, kAudioFilePropertyMagicCookieData, &size, cookie);
    AudioQueueSetProperty(mQueue, kAudioQueueProperty_MagicCookie, cookie, size);
    delete[] cookie;
  }

  // Setting a channel layout
  size = sizeof(UInt32);
  result = AudioFileGetPropertyInfo(mAudioFile, kAudioFilePropertyChannelLayout, &size, NULL);
  if (result == noErr && size > 0) {
    AudioChannelLayout *acl = static_cast<AudioChannelLayout *>(malloc(size));
    AudioFileGetProperty(mAudioFile, kAudioFilePropertyChannelLayout, &size, acl);
    AudioQueueSetProperty(mQueue, kAudioQueueProperty_ChannelLayout, acl, size);
    free(acl);
  }

  // Property listeners
  AudioQueueAddPropertyListener(mQueue, kAudioQueueProperty_IsRunning, isRunningProc, this);

  // Setting volume
  AudioQueueSetParameter(mQueue, kAudioQueueParam_Volume, 1.0);
}

void AQPlayer::isRunningProc(void *inAQObject, AudioQueueRef inAQ, AudioQueuePropertyID inID) {
  AQPlayer *THIS = static_cast<AQPlayer *>(inAQObject);
  UInt32 size = sizeof(THIS->mIsRunning);
  OSStatus result =
      AudioQueueGetProperty(inAQ, kAudioQueueProperty_IsRunning, &THIS->mIsRunning, &size);
  (void)result, (void)inID;
}

// Cleanup
void AQPlayer::DisposeQueue(bool inDisposeFile) {
  AudioQueueRemovePropertyListener(mQueue, kAudioQueueProperty_IsRunning, isRunningProc, this);
  AudioQueueDispose(mQueue, true);
  if (inDisposeFile) AudioFileClose(mAudioFile);
}

// Audio queue callback functionality
void AQPlayer::AQBufferCallback(void *inAQObject, AudioQueueRef inAQ,
                                AudioQueueBufferRef inBuffer) {
  AQPlayer *THIS = static_cast<AQPlayer *>(inAQObject);
  UInt32 numBytes = inBuffer->mAudioDataBytesCapacity;
  UInt32 nPackets = THIS->mNumPacketsToRead;
  AudioFileReadPackets(THIS->mAudioFile, false, &numBytes, inBuffer->mPacketDescriptions,
                       THIS->mCurrentPacket, &nPackets, inBuffer->mAudioData);
  if (nPackets > 0) {
    inBuffer->mAudioDataByteSize = numBytes;
    AudioQueueEnqueueBuffer(inAQ, inBuffer, nPackets, THIS->mPacketDescs);
    THIS->mCurrentPacket += nPackets;
  } else {
    THIS->mIsDone = true;
    AudioQueueStop(inAQ, false);
  }
}

// Running the audio queue
void AQPlayer::StartQueue() {
  mCurrentPacket = 0;
  for (int iBuf = 0; iBuf < kNumberBuffers; ++iBuf) {
    AQBufferCallback(this, mQueue, mBuffers[iBuf]);
  }
  AudioQueueStart(mQueue, NULL);
}

void AQPlayer::PauseQueue() {
  AudioQueuePause(mQueue);
}

void AQPlayer::StopQueue() {
  AudioQueueStop(mQueue, false);
}

} // namespace

extern "C" void usePlayer(const char *filePath) {
  AQPlayer player = AQPlayer();
  player.CreateQueueForFile(filePath);
  player.StartQueue();
  player.PauseQueue();
  player.StopQueue();
  player.DisposeQueue(true);
}
