// Plays a sound file through an audio queue.
//
// Usage: player-swift FILE [VOLUME]
//
// To build it on its own, give a package's executable target the product AudioToolbox of the package
// Cuejack, and copy this file into it.

import AudioToolbox
import Foundation

/// A call that failed, and its result.
struct Failure: Error, CustomStringConvertible {
  let call: String
  let status: OSStatus

  /// Most results are four characters, the others are numbers.
  var description: String {
    let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: status >> $0) }
    guard bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else { return "\(call): \(status)" }
    return "\(call): '\(String(decoding: bytes, as: UTF8.self))'"
  }
}

/// Throws if the result of `call` is not noErr.
func check(_ status: OSStatus, _ call: String) throws {
  guard status == noErr else { throw Failure(call: call, status: status) }
}

/// Plays one file, once.
///
/// The queue asks for sound: whenever it has played a buffer it hands it back to a callback, which
/// fills it again from the file. At the end of the file the callback stops the queue, which first
/// plays what it still holds. The callbacks run on the run loop of the thread that made the player,
/// so nothing here is locked.
final class Player {
  let format: AudioStreamBasicDescription
  /// Packets of the file that have been enqueued.
  private(set) var packetsRead: Int64 = 0
  private(set) var buffersFilled = 0

  private let file: AudioFileID
  private var queue: AudioQueueRef?
  private var packetsPerBuffer: UInt32 = 0
  private var isAtEnd = false
  /// What went wrong in a callback, where nobody was there to be told.
  private var failure: Failure?

  /// Opens the file.
  init(path: String) throws {
    let bytes = Array(path.utf8)
    guard
      let url = CFURLCreateFromFileSystemRepresentation(nil, bytes, bytes.count, false)
    else {
      throw Failure(
        call: "CFURLCreateFromFileSystemRepresentation", status: kAudio_BadFilePathError)
    }
    var file: AudioFileID?
    try check(AudioFileOpenURL(url, .readPermission, 0, &file), "AudioFileOpenURL")
    guard let file else { throw Failure(call: "AudioFileOpenURL", status: kAudio_ParamError) }
    self.file = file
    var format = AudioStreamBasicDescription()
    var size = UInt32(MemoryLayout.size(ofValue: format))
    let status = AudioFileGetProperty(file, kAudioFilePropertyDataFormat, &size, &format)
    self.format = format
    // From here on the object is complete, and closes the file when it goes.
    try check(status, "AudioFileGetProperty(DataFormat)")
  }

  deinit {
    // Disposing of the queue frees its buffers.
    if let queue { AudioQueueDispose(queue, true) }
    AudioFileClose(file)
  }

  /// Plays the file to its end, on the run loop of the calling thread.
  func play(volume: Float) throws {
    let queue = try makeQueue()
    try check(
      AudioQueueSetParameter(queue, kAudioQueueParam_Volume, volume),
      "AudioQueueSetParameter(Volume)")
    // Every buffer is filled by hand, so that the queue can start at once.
    for buffer in try allocateBuffers(of: queue) where !isAtEnd {
      bufferWasPlayed(buffer)
    }
    if let failure { throw failure }
    if buffersFilled == 0 { return }
    try check(AudioQueueStart(queue, nil), "AudioQueueStart")
    CFRunLoopRun()
    if let failure { throw failure }
  }

  // MARK: Setting up

  private func makeQueue() throws -> AudioQueueRef {
    // The callbacks know the player by this pointer: the player outlives its queue.
    let this = Unmanaged.passUnretained(self).toOpaque()
    var format = format
    var queue: AudioQueueRef?
    try check(
      AudioQueueNewOutput(
        &format,
        { this, _, buffer in
          Unmanaged<Player>.fromOpaque(this!).takeUnretainedValue().bufferWasPlayed(buffer)
        },
        this, CFRunLoopGetCurrent(), kCFRunLoopCommonModes, 0, &queue),
      "AudioQueueNewOutput")
    guard let queue else { throw Failure(call: "AudioQueueNewOutput", status: kAudio_ParamError) }
    self.queue = queue
    try check(
      AudioQueueAddPropertyListener(
        queue, kAudioQueueProperty_IsRunning,
        { this, _, _ in
          Unmanaged<Player>.fromOpaque(this!).takeUnretainedValue().runningChanged()
        }, this),
      "AudioQueueAddPropertyListener(IsRunning)")
    try copyMagicCookie(to: queue)
    return queue
  }

  /// Gives the queue what the file holds for its decoder. Linear PCM files hold nothing.
  private func copyMagicCookie(to queue: AudioQueueRef) throws {
    var size: UInt32 = 0
    let status = AudioFileGetPropertyInfo(file, kAudioFilePropertyMagicCookieData, &size, nil)
    if status == kAudioFileUnsupportedPropertyError { return }
    try check(status, "AudioFileGetPropertyInfo(MagicCookieData)")
    guard size > 0 else { return }
    var cookie = [UInt8](repeating: 0, count: Int(size))
    try check(
      AudioFileGetProperty(file, kAudioFilePropertyMagicCookieData, &size, &cookie),
      "AudioFileGetProperty(MagicCookieData)")
    try check(
      AudioQueueSetProperty(queue, kAudioQueueProperty_MagicCookie, cookie, size),
      "AudioQueueSetProperty(MagicCookie)")
  }

  /// Three buffers, so that one can be refilled while the others play.
  ///
  /// A format whose packets are all of one length tells how many there are in a quarter of a second;
  /// otherwise a buffer is of a moderate size. It always has room for the largest packet.
  private func allocateBuffers(of queue: AudioQueueRef) throws -> [AudioQueueBufferRef] {
    var packet: UInt32 = 0
    var size = UInt32(MemoryLayout.size(ofValue: packet))
    try check(
      AudioFileGetProperty(file, kAudioFilePropertyPacketSizeUpperBound, &size, &packet),
      "AudioFileGetProperty(PacketSizeUpperBound)")
    guard packet > 0 else {
      throw Failure(
        call: "AudioFileGetProperty(PacketSizeUpperBound)", status: kAudioFileInvalidFileError)
    }
    var wanted = 65536.0
    if format.mFramesPerPacket > 0 {
      wanted = format.mSampleRate * 0.25 / Double(format.mFramesPerPacket) * Double(packet)
    }
    wanted = max(min(max(wanted, 0x4000), 0x50000), Double(packet))
    packetsPerBuffer = UInt32(wanted) / packet

    // Formats with packets of no fixed size need a description of each.
    let isVariable = format.mBytesPerPacket == 0 || format.mFramesPerPacket == 0
    let descriptions = isVariable ? packetsPerBuffer : 0
    return try (0..<3).map { _ in
      var buffer: AudioQueueBufferRef?
      try check(
        AudioQueueAllocateBufferWithPacketDescriptions(
          queue, packetsPerBuffer * packet, descriptions, &buffer),
        "AudioQueueAllocateBuffer")
      guard let buffer else {
        throw Failure(call: "AudioQueueAllocateBuffer", status: kAudio_MemFullError)
      }
      return buffer
    }
  }

  // MARK: Callbacks

  /// The queue hands a buffer back.
  private func bufferWasPlayed(_ buffer: AudioQueueBufferRef) {
    guard let queue, !isAtEnd else { return }
    do {
      try fill(buffer, of: queue)
    } catch {
      fail(error)
      AudioQueueStop(queue, true)
    }
  }

  /// Fills a buffer with the next packets of the file and enqueues it.
  private func fill(_ buffer: AudioQueueBufferRef, of queue: AudioQueueRef) throws {
    var bytes = buffer.pointee.mAudioDataBytesCapacity
    var packets = packetsPerBuffer
    let descriptions = buffer.pointee.mPacketDescriptions
    try check(
      AudioFileReadPacketData(
        file, false, &bytes, descriptions, packetsRead, &packets, buffer.pointee.mAudioData),
      "AudioFileReadPacketData")
    if packets == 0 {
      // Nothing is left to read, but much may be left to play: no immediate stop.
      isAtEnd = true
      try check(AudioQueueStop(queue, false), "AudioQueueStop")
      return
    }
    buffer.pointee.mAudioDataByteSize = bytes
    buffer.pointee.mPacketDescriptionCount = descriptions == nil ? 0 : packets
    try check(
      AudioQueueEnqueueBuffer(
        queue, buffer, buffer.pointee.mPacketDescriptionCount, descriptions),
      "AudioQueueEnqueueBuffer")
    packetsRead += Int64(packets)
    buffersFilled += 1
  }

  /// The queue has begun to play, or its last frame has left.
  private func runningChanged() {
    guard let queue else { return }
    var isRunning: UInt32 = 0
    var size = UInt32(MemoryLayout.size(ofValue: isRunning))
    do {
      try check(
        AudioQueueGetProperty(queue, kAudioQueueProperty_IsRunning, &isRunning, &size),
        "AudioQueueGetProperty(IsRunning)")
      if isRunning == 0 { CFRunLoopStop(CFRunLoopGetCurrent()) }
    } catch {
      fail(error)
    }
  }

  private func fail(_ error: any Error) {
    failure = error as? Failure
    isAtEnd = true
    CFRunLoopStop(CFRunLoopGetCurrent())
  }
}

extension AudioStreamBasicDescription {
  /// The format in one line.
  var summary: String {
    let id = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: mFormatID >> $0) }
    let bits = mBitsPerChannel > 0 ? ", \(mBitsPerChannel) bits" : ""
    let rate = mSampleRate.formatted(.number.grouping(.never))
    return
      "'\(String(decoding: id, as: UTF8.self))'\(bits), \(mChannelsPerFrame) channels, \(rate) Hz"
  }
}

@main
enum Main {
  static func main() {
    let arguments = CommandLine.arguments.dropFirst()
    let volume = arguments.count == 2 ? arguments.last.flatMap { Float($0) } : 1
    guard let path = arguments.first, arguments.count <= 2, let volume else {
      FileHandle.standardError.write(Data("usage: player-swift FILE [VOLUME]\n".utf8))
      exit(2)
    }
    do {
      let player = try Player(path: path)
      print("\(path): \(player.format.summary)")
      try player.play(volume: volume)
      print("played \(player.packetsRead) packets in \(player.buffersFilled) buffers")
    } catch {
      FileHandle.standardError.write(Data("player-swift: \(error)\n".utf8))
      exit(1)
    }
  }
}
