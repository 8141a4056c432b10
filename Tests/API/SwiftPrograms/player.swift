// Plays a file.
//
// Usage: player FILE

import AudioToolbox
import Foundation

let kNumberPlaybackBuffers = 3

struct PlayerError: Error, CustomStringConvertible {
  let status: OSStatus
  let operation: String
  var description: String {
    "\(operation): \(NSError(domain: NSOSStatusErrorDomain, code: Int(status)).code)"
  }
}

extension OSStatus {
  func check(_ operation: String) throws {
    if self != noErr { throw PlayerError(status: self, operation: operation) }
  }
}

class Player {
  private var playbackFile: AudioFileID!
  private var dataFormat = AudioStreamBasicDescription()
  private var packetPosition: Int64 = 0
  private var numPacketsToRead: UInt32 = 0
  private var packetDescs: UnsafeMutablePointer<AudioStreamPacketDescription>?
  private var isDone = false
  private var queue: AudioQueueRef!

  init(url: URL) throws {
    var file: AudioFileID?
    try AudioFileOpenURL(url as CFURL, .readPermission, 0, &file).check("couldn't open the file")
    playbackFile = file
    var propSize = UInt32(MemoryLayout<AudioStreamBasicDescription>.size)
    try AudioFileGetProperty(playbackFile, kAudioFilePropertyDataFormat, &propSize, &dataFormat)
      .check("couldn't get the file's data format")
  }

  deinit {
    packetDescs?.deallocate()
    AudioFileClose(playbackFile)
  }

  private func copyEncoderCookieToQueue() {
    var propertySize: UInt32 = 0
    var isWritable: UInt32 = 0
    let result = AudioFileGetPropertyInfo(
      playbackFile, kAudioFilePropertyMagicCookieData, &propertySize, &isWritable)
    guard result == noErr, propertySize > 0 else { return }
    var magicCookie = [UInt8](repeating: 0, count: Int(propertySize))
    AudioFileGetProperty(
      playbackFile, kAudioFilePropertyMagicCookieData, &propertySize, &magicCookie)
    AudioQueueSetProperty(queue, kAudioQueueProperty_MagicCookie, &magicCookie, propertySize)
  }

  private func calculateBytes(forSeconds seconds: Float64) throws -> UInt32 {
    var maxPacketSize: UInt32 = 0
    var propSize = UInt32(MemoryLayout.size(ofValue: maxPacketSize))
    try AudioFileGetProperty(
      playbackFile, kAudioFilePropertyPacketSizeUpperBound, &propSize, &maxPacketSize
    ).check("couldn't get the maximum packet size")
    let (maxBufferSize, minBufferSize): (UInt32, UInt32) = (0x10000, 0x4000)
    var size = max(maxBufferSize, maxPacketSize)
    if dataFormat.mFramesPerPacket > 0 {
      let packets = dataFormat.mSampleRate / Float64(dataFormat.mFramesPerPacket) * seconds
      size = UInt32(packets) * maxPacketSize
    }
    size = max(min(size, maxBufferSize), minBufferSize)
    numPacketsToRead = size / maxPacketSize
    return size
  }

  private func fill(_ inAQ: AudioQueueRef, _ inBuffer: AudioQueueBufferRef) {
    if isDone { return }
    var numBytes = inBuffer.pointee.mAudioDataBytesCapacity
    var nPackets = numPacketsToRead
    let status = AudioFileReadPacketData(
      playbackFile, false, &numBytes, packetDescs, packetPosition, &nPackets,
      inBuffer.pointee.mAudioData)
    if status == noErr && nPackets > 0 {
      inBuffer.pointee.mAudioDataByteSize = numBytes
      AudioQueueEnqueueBuffer(inAQ, inBuffer, packetDescs != nil ? nPackets : 0, packetDescs)
      packetPosition += Int64(nPackets)
    } else {
      AudioQueueStop(inAQ, false)
      isDone = true
    }
  }

  func play() throws {
    let selfPointer = UnsafeMutableRawPointer(Unmanaged.passUnretained(self).toOpaque())
    var newQueue: AudioQueueRef?
    try AudioQueueNewOutput(
      &dataFormat,
      { (inUserData, inAQ, inBuffer) in
        let player = Unmanaged<Player>.fromOpaque(inUserData!).takeUnretainedValue()
        player.fill(inAQ, inBuffer)
      }, selfPointer, nil, nil, 0, &newQueue
    ).check("AudioQueueNewOutput failed")
    queue = newQueue

    let bufferByteSize = try calculateBytes(forSeconds: 0.5)
    let isFormatVBR = dataFormat.mBytesPerPacket == 0 || dataFormat.mFramesPerPacket == 0
    if isFormatVBR {
      packetDescs = UnsafeMutablePointer<AudioStreamPacketDescription>.allocate(
        capacity: Int(numPacketsToRead))
    }
    copyEncoderCookieToQueue()
    for _ in 0..<kNumberPlaybackBuffers {
      var buffer: AudioQueueBufferRef? = nil
      try AudioQueueAllocateBuffer(queue, bufferByteSize, &buffer).check("no buffer")
      fill(queue, buffer!)
      if isDone { break }
    }
    try AudioQueueStart(queue, nil).check("AudioQueueStart failed")
    print("Playing...")
    repeat {
      CFRunLoopRunInMode(CFRunLoopMode.defaultMode, 0.25, false)
    } while !isDone
    // The queue plays the buffers that it still has.
    CFRunLoopRunInMode(.defaultMode, 2, false)
    AudioQueueStop(queue, true)
    AudioQueueDispose(queue, true)
    print("Played \(packetPosition) packets")
  }
}

do {
  try Player(url: URL(fileURLWithPath: CommandLine.arguments[1])).play()
} catch {
  print("Error: \(error)")
  exit(1)
}
