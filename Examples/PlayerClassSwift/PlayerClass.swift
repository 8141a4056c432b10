// A class that plays a sound file through an audio queue, and a program that obeys typed commands.
//
// Usage: player-class-swift FILE
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
// To build it on its own, give a package's executable target the product AudioToolbox of the package
// Cuejack, and copy this file into it. Run it on a JACK server, for example:
//   (echo start; sleep 2; echo pause; sleep 1; echo start) | player-class-swift take.wav
//
// The queue calls back on a serial dispatch queue, and the class changes its state there only. So it
// needs no lock, and the commands may come from any one thread.

import AudioToolbox
import Dispatch
import Foundation

/// A failed call of the C API, with its result.
struct Failure: Error, CustomStringConvertible {
  let call: String
  let status: OSStatus
  var description: String { "\(call): \(status)" }
}

/// Throws if the result of `call` is not noErr.
func check(_ status: OSStatus, _ call: String) throws(Failure) {
  guard status == noErr else { throw Failure(call: call, status: status) }
}

// MARK: The class

/// Plays one file at a time, in every format that the library can decode. One thread at a time.
final class Player: @unchecked Sendable {
  /// Called on the dispatch queue when a run has ended by itself, with the error that ended it.
  private let ended: @Sendable (Failure?) -> Void
  private let calls = DispatchQueue(label: "player")
  private var file: AudioFileID?
  private var format = AudioStreamBasicDescription()
  private var queue: AudioQueueRef?
  private var buffers: [AudioQueueBufferRef] = []
  private var packetsPerBuffer: UInt32 = 0

  // These belong to the dispatch queue.
  private var loops = false
  private var isStarted = false
  private var isPaused = false
  private var isAtEnd = true
  private var nextPacket: Int64 = 0

  init(ended: @escaping @Sendable (Failure?) -> Void) { self.ended = ended }
  deinit { disposeQueue() }

  /// Begins again at the end of the file. A change has an effect from the next buffer on.
  var isLooping: Bool {
    get { calls.sync { loops } }
    set { calls.sync { loops = newValue } }
  }

  /// True from the start to the end of the last frame, also in a pause.
  var isRunning: Bool { calls.sync { isStarted } }

  /// Opens a file and makes a queue for its format, in place of the former ones.
  func createQueue(forFile url: URL) throws(Failure) {
    disposeQueue()
    try check(AudioFileOpenURL(url as CFURL, .readPermission, 0, &file), "AudioFileOpenURL")
    var size = UInt32(MemoryLayout.size(ofValue: format))
    try check(
      AudioFileGetProperty(file!, kAudioFilePropertyDataFormat, &size, &format),
      "AudioFileGetProperty(DataFormat)")
    try check(
      AudioQueueNewOutputWithDispatchQueue(&queue, &format, 0, calls) { [unowned self] _, buffer in
        played(buffer)
      }, "AudioQueueNewOutputWithDispatchQueue")
    try check(
      AudioQueueAddPropertyListener(
        queue!, kAudioQueueProperty_IsRunning,
        { player, _, _ in
          Unmanaged<Player>.fromOpaque(player!).takeUnretainedValue().runningChanged()
        }, Unmanaged.passUnretained(self).toOpaque()), "AudioQueueAddPropertyListener")
    try copyMagicCookie()
    try allocateBuffers()
  }

  func disposeQueue() {
    // Disposing of the queue frees its buffers. No callback follows.
    if let queue { AudioQueueDispose(queue, true) }
    if let file { AudioFileClose(file) }
    queue = nil
    file = nil
    buffers = []
    (isStarted, isPaused, isAtEnd) = (false, false, true)
  }

  /// Plays from the beginning, or from where a pause was.
  func start() throws(Failure) {
    let needsStart = calls.sync {
      defer { isPaused = false }
      if isStarted { return isPaused }
      (isStarted, isAtEnd, nextPacket) = (true, false, 0)
      for buffer in buffers { played(buffer) }
      return isStarted
    }
    if needsStart { try check(AudioQueueStart(queue!, nil), "AudioQueueStart") }
  }

  func pause() throws(Failure) {
    try check(AudioQueuePause(queue!), "AudioQueuePause")
    calls.sync { isPaused = true }
  }

  func stop() throws(Failure) {
    calls.sync { (isStarted, isPaused, isAtEnd) = (false, false, true) }
    // Outside the dispatch queue: the buffers come back there before this call returns.
    try check(AudioQueueStop(queue!, true), "AudioQueueStop")
  }

  // MARK: Setting up

  /// Passes the file's magic cookie to the queue's decoder. Linear PCM has none.
  private func copyMagicCookie() throws(Failure) {
    var size: UInt32 = 0
    let status = AudioFileGetPropertyInfo(file!, kAudioFilePropertyMagicCookieData, &size, nil)
    guard status == noErr, size > 0 else { return }
    var cookie = [UInt8](repeating: 0, count: Int(size))
    try check(
      AudioFileGetProperty(file!, kAudioFilePropertyMagicCookieData, &size, &cookie),
      "AudioFileGetProperty(MagicCookieData)")
    try check(
      AudioQueueSetProperty(queue!, kAudioQueueProperty_MagicCookie, cookie, size),
      "AudioQueueSetProperty(MagicCookie)")
  }

  /// Allocates three buffers of a quarter of a second, or of 64 KiB if the packets' duration varies.
  private func allocateBuffers() throws(Failure) {
    var packet: UInt32 = 0
    var size = UInt32(MemoryLayout.size(ofValue: packet))
    try check(
      AudioFileGetProperty(file!, kAudioFilePropertyPacketSizeUpperBound, &size, &packet),
      "AudioFileGetProperty(PacketSizeUpperBound)")
    try check(packet == 0 ? kAudioFileInvalidFileError : noErr, "PacketSizeUpperBound")
    let packets =
      format.mFramesPerPacket > 0
      ? format.mSampleRate / 4 / Double(format.mFramesPerPacket) : 65536 / Double(packet)
    packetsPerBuffer = max(1, UInt32(packets))
    // Packets of variable size or duration need descriptions.
    let isVariable = format.mBytesPerPacket == 0 || format.mFramesPerPacket == 0
    for _ in 0..<3 {
      var buffer: AudioQueueBufferRef?
      try check(
        AudioQueueAllocateBufferWithPacketDescriptions(
          queue!, packetsPerBuffer * packet, isVariable ? packetsPerBuffer : 0, &buffer),
        "AudioQueueAllocateBufferWithPacketDescriptions")
      buffers.append(buffer!)
    }
  }

  // MARK: On the dispatch queue

  /// Refills a buffer. An error ends the run.
  private func played(_ buffer: AudioQueueBufferRef) {
    guard !isAtEnd else { return }
    do {
      try fill(buffer)
    } catch {
      (isStarted, isPaused, isAtEnd) = (false, false, true)
      AudioQueueStop(queue!, true)
      ended(error)
    }
  }

  /// Enqueues a buffer with the file's next packets. At the end of the file, goes on at its beginning,
  /// or stops the queue after its last frame.
  private func fill(_ buffer: AudioQueueBufferRef) throws(Failure) {
    var bytes: UInt32 = 0
    var packets: UInt32 = 0
    // Twice at most: an empty file has no packets at its beginning, either.
    for _ in 0..<2 {
      bytes = buffer.pointee.mAudioDataBytesCapacity
      packets = packetsPerBuffer
      try check(
        AudioFileReadPacketData(
          file!, false, &bytes, buffer.pointee.mPacketDescriptions, nextPacket, &packets,
          buffer.pointee.mAudioData), "AudioFileReadPacketData")
      if packets > 0 || !loops { break }
      nextPacket = 0
    }
    if packets == 0 {
      isAtEnd = true
      try check(AudioQueueStop(queue!, false), "AudioQueueStop")
      return
    }
    buffer.pointee.mAudioDataByteSize = bytes
    let descriptions = buffer.pointee.mPacketDescriptions
    try check(
      AudioQueueEnqueueBuffer(queue!, buffer, descriptions == nil ? 0 : packets, descriptions),
      "AudioQueueEnqueueBuffer")
    nextPacket += Int64(packets)
  }

  private func runningChanged() {
    var isRunning: UInt32 = 0
    var size = UInt32(MemoryLayout.size(ofValue: isRunning))
    let status = AudioQueueGetProperty(queue!, kAudioQueueProperty_IsRunning, &isRunning, &size)
    // The end of a run may be told late, after another start.
    guard status == noErr, isRunning == 0, isAtEnd, isStarted else { return }
    isStarted = false
    ended(nil)
  }
}

// MARK: The program

func report(_ words: Any) {
  FileHandle.standardError.write(Data("player-class-swift: \(words)\n".utf8))
}

@main
enum Main {
  static func main() {
    guard CommandLine.arguments.count == 2 else {
      FileHandle.standardError.write(Data("usage: player-class-swift FILE\n".utf8))
      exit(64)
    }
    let end = DispatchSemaphore(value: 0)
    let player = Player { failure in
      if let failure {
        report(failure)
        exit(1)
      }
      end.signal()
    }
    do {
      try player.createQueue(forFile: URL(fileURLWithPath: CommandLine.arguments[1]))
      while let command = readLine() {
        switch command {
        case "start": try player.start()
        case "pause": try player.pause()
        case "stop": try player.stop()
        case "loop": player.isLooping = true
        case "once": player.isLooping = false
        case "quit": try player.stop()
        case "": break
        default: report("there is no command “\(command)”")
        }
        if command == "quit" { break }
      }
      while player.isRunning { end.wait() }
      player.disposeQueue()
    } catch {
      report(error)
      exit(1)
    }
  }
}
