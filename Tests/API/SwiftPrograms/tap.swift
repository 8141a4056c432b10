// Plays a file through a processing tap that halves the sound and measures it.
//
// Usage: tap FILE

import AudioToolbox
import Foundation

final class TapContext {
  var gain: Float = 0.5
  var peak: Float = 0
  var frames = 0
}

final class TappedPlayer {
  let context = TapContext()
  private var file: ExtAudioFileRef!
  private var format = AudioStreamBasicDescription()
  private var queue: AudioQueueRef!
  private var tap: AudioQueueProcessingTapRef?
  private let finished = DispatchSemaphore(value: 0)

  init(url: URL) {
    precondition(ExtAudioFileOpenURL(url as CFURL, &file) == noErr)
    var fileFormat = AudioStreamBasicDescription()
    var size = UInt32(MemoryLayout.size(ofValue: fileFormat))
    ExtAudioFileGetProperty(file, kExtAudioFileProperty_FileDataFormat, &size, &fileFormat)
    format = AudioStreamBasicDescription(
      mSampleRate: fileFormat.mSampleRate, mFormatID: kAudioFormatLinearPCM,
      mFormatFlags: kAudioFormatFlagIsFloat | kAudioFormatFlagIsPacked, mBytesPerPacket: 8,
      mFramesPerPacket: 1, mBytesPerFrame: 8, mChannelsPerFrame: 2, mBitsPerChannel: 32,
      mReserved: 0)
    ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientDataFormat, size, &format)
  }

  private let tapCallback: AudioQueueProcessingTapCallback = {
    clientData, tap, numberOfFrames, timeStamp, flags, outNumberFrames, ioData in
    let context = Unmanaged<TapContext>.fromOpaque(clientData).takeUnretainedValue()
    let status = AudioQueueProcessingTapGetSourceAudio(
      tap, numberOfFrames, timeStamp, flags, outNumberFrames, ioData)
    guard status == noErr else { return }
    for buffer in UnsafeMutableAudioBufferListPointer(ioData) {
      let samples = UnsafeMutableBufferPointer<Float>(buffer)
      for index in samples.indices.prefix(Int(outNumberFrames.pointee)) {
        samples[index] *= context.gain
        context.peak = max(context.peak, abs(samples[index]))
      }
    }
    context.frames += Int(outNumberFrames.pointee)
    if flags.pointee.contains(.endOfStream) { context.gain = 0 }
  }

  private func refill(_ buffer: AudioQueueBufferRef) {
    var frames = buffer.pointee.mAudioDataBytesCapacity / format.mBytesPerFrame
    var list = AudioBufferList(
      mNumberBuffers: 1,
      mBuffers: AudioBuffer(
        mNumberChannels: 2, mDataByteSize: buffer.pointee.mAudioDataBytesCapacity,
        mData: buffer.pointee.mAudioData))
    let status = ExtAudioFileRead(file, &frames, &list)
    guard status == noErr, frames > 0 else {
      AudioQueueStop(queue, false)
      return
    }
    buffer.pointee.mAudioDataByteSize = frames * format.mBytesPerFrame
    AudioQueueEnqueueBuffer(queue, buffer, 0, nil)
  }

  func play() -> OSStatus {
    let this = Unmanaged.passUnretained(self).toOpaque()
    var newQueue: AudioQueueRef?
    var status = AudioQueueNewOutput(
      &format,
      { userData, _, buffer in
        Unmanaged<TappedPlayer>.fromOpaque(userData!).takeUnretainedValue().refill(buffer)
      }, this, nil, nil, 0, &newQueue)
    guard status == noErr else { return status }
    queue = newQueue

    var maxFrames: UInt32 = 0
    var tapFormat = AudioStreamBasicDescription()
    status = AudioQueueProcessingTapNew(
      queue, tapCallback, Unmanaged.passUnretained(context).toOpaque(), .preEffects, &maxFrames,
      &tapFormat, &tap)
    guard status == noErr else { return status }

    AudioQueueAddPropertyListener(
      queue, kAudioQueueProperty_IsRunning,
      { userData, queue, property in
        var isRunning: UInt32 = 0
        var size = UInt32(MemoryLayout.size(ofValue: isRunning))
        AudioQueueGetProperty(queue, property, &isRunning, &size)
        if isRunning == 0 {
          Unmanaged<TappedPlayer>.fromOpaque(userData!).takeUnretainedValue().finished.signal()
        }
      }, this)
    for _ in 0..<3 {
      var buffer: AudioQueueBufferRef?
      AudioQueueAllocateBuffer(queue, 32768, &buffer)
      refill(buffer!)
    }
    status = AudioQueueStart(queue, nil)
    guard status == noErr else { return status }
    finished.wait()
    if let tap = tap { AudioQueueProcessingTapDispose(tap) }
    AudioQueueDispose(queue, true)
    ExtAudioFileDispose(file)
    return noErr
  }
}

let player = TappedPlayer(url: URL(fileURLWithPath: CommandLine.arguments[1]))
let status = player.play()
print("status \(status), peak \(player.context.peak)")
