// A program in the style of those for Apple's systems, word for word.
//
// Usage: swift-client file FILE | ramp FRAMES | blocks FRAMES | device UID | io FRAMES | io-queue FRAMES

import AudioToolbox
import Foundation

enum PlayerError: Error {
  case osStatus(OSStatus, String)
}

func check(_ status: OSStatus, _ message: String) throws {
  guard status == noErr else { throw PlayerError.osStatus(status, message) }
}

// MARK: A file, on the main run loop

class FilePlayer {
  var audioFile: AudioFileID?
  var queue: AudioQueueRef?
  var dataFormat = AudioStreamBasicDescription()
  var packetDescriptions: UnsafeMutablePointer<AudioStreamPacketDescription>?
  var currentPacket: Int64 = 0
  var packetsToRead: UInt32 = 0
  var isDone = false
  var hasStarted = false

  let outputCallback: AudioQueueOutputCallback = { inUserData, inAQ, inBuffer in
    guard let inUserData = inUserData else { return }
    let player = Unmanaged<FilePlayer>.fromOpaque(inUserData).takeUnretainedValue()
    player.fillBuffer(inAQ, inBuffer)
  }

  init(url: URL) throws {
    try check(
      AudioFileOpenURL(url as CFURL, .readPermission, 0, &audioFile), "AudioFileOpenURL failed")
    guard let audioFile = audioFile else { throw PlayerError.osStatus(-1, "no file") }
    var propertySize = UInt32(MemoryLayout<AudioStreamBasicDescription>.size)
    try check(
      AudioFileGetProperty(audioFile, kAudioFilePropertyDataFormat, &propertySize, &dataFormat),
      "couldn't get the file's data format")
  }

  deinit {
    if let queue = queue { AudioQueueDispose(queue, true) }
    if let audioFile = audioFile { AudioFileClose(audioFile) }
    packetDescriptions?.deallocate()
  }

  func fillBuffer(_ inAQ: AudioQueueRef, _ inBuffer: AudioQueueBufferRef) {
    guard !isDone, let audioFile = audioFile else { return }
    var numberOfBytes = inBuffer.pointee.mAudioDataBytesCapacity
    var numberOfPackets = packetsToRead
    let status = AudioFileReadPacketData(
      audioFile, false, &numberOfBytes, packetDescriptions, currentPacket, &numberOfPackets,
      inBuffer.pointee.mAudioData)
    if status == noErr && numberOfPackets > 0 {
      inBuffer.pointee.mAudioDataByteSize = numberOfBytes
      AudioQueueEnqueueBuffer(
        inAQ, inBuffer, packetDescriptions != nil ? numberOfPackets : 0, packetDescriptions)
      currentPacket += Int64(numberOfPackets)
    } else {
      AudioQueueStop(inAQ, false)
      isDone = true
    }
  }

  func play() throws {
    let userData = Unmanaged.passUnretained(self).toOpaque()
    try check(
      AudioQueueNewOutput(
        &dataFormat, outputCallback, userData, CFRunLoopGetCurrent(),
        CFRunLoopMode.commonModes.rawValue, 0, &queue), "AudioQueueNewOutput failed")
    guard let queue = queue, let audioFile = audioFile else { return }

    var maxPacketSize: UInt32 = 0
    var propertySize = UInt32(MemoryLayout.size(ofValue: maxPacketSize))
    try check(
      AudioFileGetProperty(
        audioFile, kAudioFilePropertyPacketSizeUpperBound, &propertySize, &maxPacketSize),
      "couldn't get the maximum packet size")
    let bufferByteSize = UInt32(dataFormat.mSampleRate / 4) * maxPacketSize
    packetsToRead = bufferByteSize / maxPacketSize
    if dataFormat.mBytesPerPacket == 0 || dataFormat.mFramesPerPacket == 0 {
      packetDescriptions = .allocate(capacity: Int(packetsToRead))
    }

    AudioQueueAddPropertyListener(
      queue, kAudioQueueProperty_IsRunning,
      { inUserData, inAQ, inID in
        var isRunning: UInt32 = 0
        var size = UInt32(MemoryLayout<UInt32>.size)
        AudioQueueGetProperty(inAQ, inID, &isRunning, &size)
        let player = Unmanaged<FilePlayer>.fromOpaque(inUserData!).takeUnretainedValue()
        if isRunning != 0 {
          player.hasStarted = true
        } else {
          CFRunLoopStop(CFRunLoopGetMain())
        }
      }, userData)

    for _ in 0..<3 {
      var buffer: AudioQueueBufferRef?
      try check(AudioQueueAllocateBuffer(queue, bufferByteSize, &buffer), "no buffer")
      if let buffer = buffer { outputCallback(userData, queue, buffer) }
    }
    AudioQueueSetParameter(queue, kAudioQueueParam_Volume, 1.0)
    try check(AudioQueueStart(queue, nil), "AudioQueueStart failed")
    CFRunLoopRun()
    print("played", currentPacket, hasStarted)
  }
}

// MARK: A ramp, made in a callback on the queue's own thread

final class RampPlayer {
  private var queue: AudioQueueRef?
  private var buffers = [AudioQueueBufferRef?](repeating: nil, count: 3)
  private var position = 0
  private let frames: Int
  private let finished = DispatchSemaphore(value: 0)

  init(frames: Int) { self.frames = frames }

  var format: AudioStreamBasicDescription = {
    var description = AudioStreamBasicDescription()
    description.mSampleRate = 48000
    description.mFormatID = kAudioFormatLinearPCM
    description.mFormatFlags = kLinearPCMFormatFlagIsSignedInteger | kAudioFormatFlagIsPacked
    description.mFramesPerPacket = 1
    description.mChannelsPerFrame = 1
    description.mBitsPerChannel = UInt32(MemoryLayout<Int16>.size * 8)
    description.mBytesPerFrame = description.mChannelsPerFrame * description.mBitsPerChannel / 8
    description.mBytesPerPacket = description.mBytesPerFrame * description.mFramesPerPacket
    return description
  }()

  private func next(_ capacity: UInt32) -> [Int16] {
    let count = min(Int(capacity) / MemoryLayout<Int16>.stride, frames - position)
    defer { position += count }
    return (position..<position + count).map { Int16(truncatingIfNeeded: $0 % 30000 + 1) }
  }

  private func fill(_ queue: AudioQueueRef, _ buffer: AudioQueueBufferRef) {
    let samples = next(buffer.pointee.mAudioDataBytesCapacity)
    guard !samples.isEmpty else {
      AudioQueueStop(queue, false)
      return
    }
    let byteCount = samples.count * MemoryLayout<Int16>.stride
    samples.withUnsafeBytes { bytes in
      buffer.pointee.mAudioData.copyMemory(from: bytes.baseAddress!, byteCount: byteCount)
    }
    buffer.pointee.mAudioDataByteSize = UInt32(byteCount)
    AudioQueueEnqueueBuffer(queue, buffer, 0, nil)
  }

  private func prepare() throws {
    for i in 0..<buffers.count {
      try check(AudioQueueAllocateBuffer(queue!, 9600 * 2, &buffers[i]), "no buffer")
      fill(queue!, buffers[i]!)
    }
    let selfPointer = UnsafeMutableRawPointer(Unmanaged.passUnretained(self).toOpaque())
    try check(
      AudioQueueAddPropertyListener(
        queue!, kAudioQueueProperty_IsRunning,
        { userData, queue, property in
          var isRunning = UInt32()
          var size = UInt32(MemoryLayout.stride(ofValue: isRunning))
          guard AudioQueueGetProperty(queue, property, &isRunning, &size) == noErr else { return }
          if isRunning == 0 {
            Unmanaged<RampPlayer>.fromOpaque(userData!).takeUnretainedValue().finished.signal()
          }
        }, selfPointer), "no listener")
    var prepared: UInt32 = 0
    try check(AudioQueuePrime(queue!, 0, &prepared), "AudioQueuePrime failed")
    print("primed", prepared)
  }

  func play(withBlocks: Bool) throws {
    if withBlocks {
      let callbackQueue = DispatchQueue(label: "player", qos: .userInteractive)
      AudioQueueNewOutputWithDispatchQueue(&queue, &format, 0, callbackQueue) {
        [unowned self] aq, buffer in
        fill(aq, buffer)
      }
    } else {
      let selfPointer = Unmanaged<RampPlayer>.passUnretained(self).toOpaque()
      try check(
        AudioQueueNewOutput(
          &format,
          { (userData: UnsafeMutableRawPointer?, aq: AudioQueueRef, buffer: AudioQueueBufferRef) in
            let this = Unmanaged<RampPlayer>.fromOpaque(userData!).takeUnretainedValue()
            this.fill(aq, buffer)
          }, selfPointer, nil, nil, 0, &queue), "AudioQueueNewOutput failed")
    }
    try prepare()

    // In a quarter of a second of host time.
    var startTime = AudioTimeStamp()
    startTime.mHostTime =
      AudioGetCurrentHostTime() + AudioConvertNanosToHostTime(UInt64(0.25 * Double(NSEC_PER_SEC)))
    startTime.mFlags = .hostTimeValid
    try check(AudioQueueStart(queue!, &startTime), "AudioQueueStart failed")

    var now = AudioTimeStamp()
    repeat {
      RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.01))
    } while AudioQueueGetCurrentTime(queue!, nil, &now, nil) == kAudioQueueErr_InvalidRunState
    print("runs", now.mFlags.contains(.sampleTimeValid))

    finished.wait()
    AudioQueueStop(queue!, true)
    for case let buffer? in buffers { AudioQueueFreeBuffer(queue!, buffer) }
    AudioQueueDispose(queue!, true)
    print("played", position)
  }
}

// MARK: A device's UID

func showDevice(_ name: String) throws {
  var format = RampPlayer(frames: 0).format
  var queue: AudioQueueRef?
  try check(AudioQueueNewOutput(&format, { _, _, _ in }, nil, nil, nil, 0, &queue), "no queue")
  guard let queue else { return }
  defer { AudioQueueDispose(queue, true) }

  var deviceUID = name as CFString
  let status = withUnsafePointer(to: &deviceUID) { pointer in
    AudioQueueSetProperty(
      queue, kAudioQueueProperty_CurrentDevice, pointer, UInt32(MemoryLayout<CFString>.size))
  }
  if status == kAudioQueueErr_InvalidDevice {
    print("no such device")
    return
  }
  var current: Unmanaged<CFString>?
  var size = UInt32(MemoryLayout<CFString?>.size)
  try check(
    AudioQueueGetProperty(queue, kAudioQueueProperty_CurrentDevice, &current, &size), "no device")
  print("device", (current?.takeRetainedValue() as String?) ?? "none")
}

// MARK: A device's closures

/// Plays a ramp in a closure of the default device, and hears of its start.
func playOnDevice(_ frames: Int, on queue: DispatchQueue?) throws {
  var address = AudioObjectPropertyAddress(
    mSelector: kAudioHardwarePropertyDefaultOutputDevice,
    mScope: kAudioObjectPropertyScopeGlobal, mElement: kAudioObjectPropertyElementMain)
  var device = AudioDeviceID(kAudioObjectUnknown)
  var size = UInt32(MemoryLayout<AudioDeviceID>.size)
  try check(
    AudioObjectGetPropertyData(
      AudioObjectID(kAudioObjectSystemObject), &address, 0, nil, &size, &device), "no device")

  let listenerQueue = DispatchQueue(label: "listener")
  let started = DispatchSemaphore(value: 0)
  var calls = 0
  let listener: AudioObjectPropertyListenerBlock = { count, addresses in
    calls += 1
    started.signal()
  }
  address.mSelector = kAudioDevicePropertyDeviceIsRunning
  try check(
    AudioObjectAddPropertyListenerBlock(device, &address, listenerQueue, listener), "no listener")

  let finished = DispatchSemaphore(value: 0)
  var position = 0
  var procID: AudioDeviceIOProcID?
  try check(
    AudioDeviceCreateIOProcIDWithBlock(&procID, device, queue) { _, _, _, output, _ in
      for buffer in UnsafeMutableAudioBufferListPointer(output) {
        let samples = UnsafeMutableBufferPointer<Float>(buffer)
        let channels = Int(buffer.mNumberChannels)
        for frame in 0..<min(samples.count / channels, frames - position) {
          for channel in 0..<channels {
            samples[frame * channels + channel] = Float((position + frame) % 30000 + 1) / 32768
          }
        }
        position = min(frames, position + samples.count / channels)
      }
      if position == frames { finished.signal() }
    }, "no IO procedure")
  try check(AudioDeviceStart(device, procID), "AudioDeviceStart failed")
  started.wait()
  finished.wait()
  try check(
    AudioObjectRemovePropertyListenerBlock(device, &address, listenerQueue, listener),
    "the listener stays")
  let heard = listenerQueue.sync { calls }
  AudioDeviceStop(device, procID)
  try check(AudioDeviceDestroyIOProcID(device, procID!), "the IO procedure stays")
  print("played", position, heard > 0, listenerQueue.sync { calls } == heard)
}

do {
  let argument = CommandLine.arguments.last ?? ""
  switch CommandLine.arguments.dropFirst().first {
  case "file": try FilePlayer(url: URL(fileURLWithPath: argument)).play()
  case "ramp": try RampPlayer(frames: Int(argument) ?? 0).play(withBlocks: false)
  case "blocks": try RampPlayer(frames: Int(argument) ?? 0).play(withBlocks: true)
  case "device": try showDevice(argument)
  case "io": try playOnDevice(Int(argument) ?? 0, on: nil)
  case "io-queue": try playOnDevice(Int(argument) ?? 0, on: DispatchQueue(label: "io"))
  default: exit(64)
  }
} catch PlayerError.osStatus(let status, let message) {
  print("error \(status): \(message)")
  exit(1)
}
