// Watches a device and a queue: volume, running, by functions and by blocks.
//
// Usage: listeners

import AudioToolbox
import CoreAudio
import Foundation

final class Watcher {
  let queue = DispatchQueue(label: "watcher")
  var lines: [String] = []
  let changed = DispatchSemaphore(value: 0)

  func note(_ line: String) {
    queue.sync {
      guard !lines.contains(line) else { return }
      lines.append(line)
    }
    changed.signal()
  }
}

let kOutput = kAudioDevicePropertyScopeOutput

func defaultOutputDevice() -> AudioDeviceID {
  var id = AudioDeviceID()
  var size = UInt32(MemoryLayout.size(ofValue: id))
  var address = AudioObjectPropertyAddress(
    mSelector: kAudioHardwarePropertyDefaultOutputDevice,
    mScope: kAudioObjectPropertyScopeGlobal, mElement: kAudioObjectPropertyElementMain)
  AudioObjectGetPropertyData(
    AudioObjectID(kAudioObjectSystemObject), &address, 0, nil, &size, &id)
  return id
}

func watch() {
  let watcher = Watcher()
  let context = Unmanaged.passUnretained(watcher).toOpaque()
  let device = defaultOutputDevice()

  // A function.
  var volume = AudioObjectPropertyAddress(
    mSelector: kAudioDevicePropertyVolumeScalar, mScope: kOutput,
    mElement: kAudioObjectPropertyElementMain)
  let listener: AudioObjectPropertyListenerProc = { objectID, count, addresses, clientData in
    let watcher = Unmanaged<Watcher>.fromOpaque(clientData!).takeUnretainedValue()
    for address in UnsafeBufferPointer(start: addresses, count: Int(count))
    where address.mSelector == kAudioDevicePropertyVolumeScalar {
      watcher.note("volume by function")
    }
    return noErr
  }
  precondition(AudioObjectHasProperty(device, &volume))
  precondition(AudioObjectAddPropertyListener(device, &volume, listener, context) == noErr)

  // A block.
  let block: AudioObjectPropertyListenerBlock = { count, addresses in
    if addresses.pointee.mSelector == kAudioDevicePropertyVolumeScalar {
      watcher.note("volume by block")
    }
  }
  let callbacks = DispatchQueue(label: "callbacks")
  precondition(AudioObjectAddPropertyListenerBlock(device, &volume, callbacks, block) == noErr)

  var newVolume: Float32 = 0.5
  precondition(
    AudioObjectSetPropertyData(
      device, &volume, 0, nil, UInt32(MemoryLayout<Float32>.size), &newVolume) == noErr)
  for _ in 0..<2 { _ = watcher.changed.wait(timeout: .now() + 30) }
  AudioObjectRemovePropertyListener(device, &volume, listener, context)
  AudioObjectRemovePropertyListenerBlock(device, &volume, callbacks, block)

  // A queue.
  var format = AudioStreamBasicDescription(
    mSampleRate: 48000, mFormatID: kAudioFormatLinearPCM,
    mFormatFlags: kAudioFormatFlagsNativeFloatPacked, mBytesPerPacket: 4, mFramesPerPacket: 1,
    mBytesPerFrame: 4, mChannelsPerFrame: 1, mBitsPerChannel: 32, mReserved: 0)
  var audioQueue: AudioQueueRef?
  AudioQueueNewOutput(&format, { _, _, _ in }, nil, nil, nil, 0, &audioQueue)
  AudioQueueAddPropertyListener(
    audioQueue!, kAudioQueueProperty_IsRunning,
    { userData, queue, property in
      var isRunning: UInt32 = 0
      var size = UInt32(MemoryLayout<UInt32>.size)
      AudioQueueGetProperty(queue, property, &isRunning, &size)
      Unmanaged<Watcher>.fromOpaque(userData!).takeUnretainedValue()
        .note("queue \(isRunning != 0 ? "runs" : "stopped")")
    }, context)
  var buffer: AudioQueueBufferRef?
  AudioQueueAllocateBuffer(audioQueue!, 4 * 4800, &buffer)
  if let buffer {
    let samples = buffer.pointee.mAudioData.bindMemory(to: Float.self, capacity: 4800)
    for frame in 0..<4800 { samples[frame] = Float(frame % 100) / 400 }
    buffer.pointee.mAudioDataByteSize = 4 * 4800
    AudioQueueEnqueueBuffer(audioQueue!, buffer, 0, nil)
  }
  AudioQueueStart(audioQueue!, nil)
  AudioQueueStop(audioQueue!, false)
  for _ in 0..<2 { _ = watcher.changed.wait(timeout: .now() + 30) }
  AudioQueueDispose(audioQueue!, true)
  for line in watcher.lines.sorted() { print(line) }
}

watch()
