// Records to a sound file through an audio queue.
//
// Usage: recorder-swift FILE.aiff|FILE.caf [SECONDS]
//
// An AIFF file gets linear PCM, a CAF file gets AAC. Recording ends after SECONDS, or with Control-C.
//
// To build it on its own, give a package's executable target the product AudioToolbox of the package
// Cuejack, and copy this file into it.

import AudioToolbox
import Dispatch
import Foundation

/// A failed call of the C API, with its result.
struct Failure: Error, CustomStringConvertible {
  let call: String
  let status: OSStatus

  /// Most results are four-character codes, others are numbers.
  var description: String { "\(call): \(Self.text(status))" }

  static func text(_ status: OSStatus) -> String {
    let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: status >> $0) }
    guard bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else { return "\(status)" }
    return "'\(String(decoding: bytes, as: UTF8.self))'"
  }
}

/// Throws if the result of `call` is not noErr.
func check(_ status: OSStatus, _ call: String) throws(Failure) {
  guard status == noErr else { throw Failure(call: call, status: status) }
}

/// A queue that records to a file. All callbacks run on one dispatch queue.
final class Recorder: @unchecked Sendable {
  private(set) var format: AudioStreamBasicDescription
  private(set) var packetsWritten: Int64 = 0
  /// The first error in a callback.
  private(set) var failure: Failure?
  private let calls = DispatchQueue(label: "recorder")
  private var queue: AudioQueueRef?
  private var file: AudioFileID?
  private var isRunning = false

  /// Creates the queue and the file. The file name's extension selects the container.
  init(path: String) throws(Failure) {
    let type: AudioFileTypeID
    // A rate of 0 is the device's own.
    format = AudioStreamBasicDescription()
    format.mChannelsPerFrame = 2
    switch URL(fileURLWithPath: path).pathExtension {
    case "aiff", "aif":
      type = kAudioFileAIFFType
      format.mFormatID = kAudioFormatLinearPCM
      format.mFormatFlags =
        kLinearPCMFormatFlagIsBigEndian | kLinearPCMFormatFlagIsSignedInteger
        | kLinearPCMFormatFlagIsPacked
      format.mBitsPerChannel = 16
      format.mBytesPerFrame = 4
      format.mFramesPerPacket = 1
      format.mBytesPerPacket = 4
    case "caf":
      // The encoder fills in the rest.
      type = kAudioFileCAFType
      format.mFormatID = kAudioFormatMPEG4AAC
    default:
      throw Failure(
        call: "the file's name has to end in .aiff or .caf",
        status: kAudioFileUnsupportedFileTypeError)
    }
    try check(
      AudioQueueNewInputWithDispatchQueue(&queue, &format, 0, calls) {
        [unowned self] _, buffer, _, count, descriptions in
        take(buffer, packets: count, descriptions)
      }, "AudioQueueNewInputWithDispatchQueue")
    // The queue has filled in the fields that were left open.
    var size = UInt32(MemoryLayout.size(ofValue: format))
    try check(
      AudioQueueGetProperty(queue!, kAudioQueueProperty_StreamDescription, &format, &size),
      "AudioQueueGetProperty(StreamDescription)")
    try check(
      AudioFileCreateWithURL(
        URL(fileURLWithPath: path) as CFURL, type, &format, .eraseFile, &file),
      "AudioFileCreateWithURL")
    try copyMagicCookie()
  }

  deinit {
    // Dispose of the queue first, because its callback writes to the file. Closing completes the
    // file.
    if let queue { AudioQueueDispose(queue, true) }
    if let file { AudioFileClose(file) }
  }

  /// Appends a buffer's packets to the file, and enqueues the buffer again.
  private func take(
    _ buffer: AudioQueueBufferRef, packets: UInt32,
    _ descriptions: UnsafePointer<AudioStreamPacketDescription>?
  ) {
    guard failure == nil, let queue, let file else { return }
    let bytes = buffer.pointee.mAudioDataByteSize
    // For packets of constant size, the number follows from the bytes.
    var count = packets
    if count == 0, format.mBytesPerPacket > 0 { count = bytes / format.mBytesPerPacket }
    do {
      if count > 0 {
        try check(
          AudioFileWritePackets(
            file, false, bytes, descriptions, packetsWritten, &count, buffer.pointee.mAudioData),
          "AudioFileWritePackets")
        packetsWritten += Int64(count)
      }
      if isRunning {
        try check(AudioQueueEnqueueBuffer(queue, buffer, 0, nil), "AudioQueueEnqueueBuffer")
      }
    } catch {
      failure = error
    }
  }

  /// Copies the encoder's magic cookie to the file. Linear PCM has none.
  private func copyMagicCookie() throws(Failure) {
    var size: UInt32 = 0
    guard
      AudioQueueGetPropertySize(queue!, kAudioQueueProperty_MagicCookie, &size) == noErr, size > 0
    else { return }
    var cookie = [UInt8](repeating: 0, count: Int(size))
    try check(
      AudioQueueGetProperty(queue!, kAudioQueueProperty_MagicCookie, &cookie, &size),
      "AudioQueueGetProperty(MagicCookie)")
    try check(
      AudioFileSetProperty(file!, kAudioFilePropertyMagicCookieData, size, cookie),
      "AudioFileSetProperty(MagicCookieData)")
  }

  /// Returns the bytes of each buffer: half a second of sound, with the maximum size for variable
  /// packets.
  private func bufferSize() throws(Failure) -> UInt32 {
    let frames = UInt32(format.mSampleRate / 2)
    if format.mBytesPerFrame > 0 { return frames * format.mBytesPerFrame }
    var packet: UInt32 = 0
    var size = UInt32(MemoryLayout.size(ofValue: packet))
    try check(
      AudioQueueGetProperty(
        queue!, kAudioQueueProperty_MaximumOutputPacketSize, &packet, &size),
      "AudioQueueGetProperty(MaximumOutputPacketSize)")
    return packet * max(1, frames / max(1, format.mFramesPerPacket))
  }

  func start() throws(Failure) {
    let bytes = try bufferSize()
    for _ in 0..<3 {
      var buffer: AudioQueueBufferRef?
      try check(AudioQueueAllocateBuffer(queue!, bytes, &buffer), "AudioQueueAllocateBuffer")
      try check(AudioQueueEnqueueBuffer(queue!, buffer!, 0, nil), "AudioQueueEnqueueBuffer")
    }
    calls.sync { isRunning = true }
    try check(AudioQueueStart(queue!, nil), "AudioQueueStart")
  }

  /// Seconds of sound so far.
  var seconds: Double {
    var now = AudioTimeStamp()
    guard AudioQueueGetCurrentTime(queue!, nil, &now, nil) == noErr else { return 0 }
    return now.mSampleTime / format.mSampleRate
  }

  var hasFailed: Bool { calls.sync { failure != nil } }

  /// Stops recording and completes the file's contents.
  func stop() throws(Failure) {
    calls.sync { isRunning = false }
    // The queue passes its partly filled buffer to the callback before this call returns.
    try check(AudioQueueStop(queue!, true), "AudioQueueStop")
    if let failure = calls.sync(execute: { failure }) { throw failure }
    // Some encoders complete the cookie only at the end.
    try copyMagicCookie()
  }
}

extension AudioStreamBasicDescription {
  /// One-line description of the format.
  var summary: String {
    let rate = mSampleRate.formatted(.number.grouping(.never))
    let id = Failure.text(OSStatus(bitPattern: mFormatID))
    return "\(id), \(mChannelsPerFrame) channels, \(rate) Hz"
  }
}

@main
enum Main {
  static func main() {
    let arguments = CommandLine.arguments.dropFirst()
    let seconds = arguments.count == 2 ? arguments.last.flatMap { Double($0) } : .infinity
    guard let path = arguments.first, arguments.count <= 2, let seconds else {
      FileHandle.standardError.write(
        Data("usage: recorder-swift FILE.aiff|FILE.caf [SECONDS]\n".utf8))
      exit(2)
    }
    // The loop below handles Control-C.
    signal(SIGINT, SIG_IGN)
    let interrupt = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
    let isAsked = DispatchSemaphore(value: 0)
    interrupt.setEventHandler { @Sendable in isAsked.signal() }
    interrupt.resume()
    do {
      let recorder = try Recorder(path: path)
      print("\(path): \(recorder.format.summary)")
      try recorder.start()
      while recorder.seconds < seconds, !recorder.hasFailed {
        if isAsked.wait(timeout: .now() + 0.05) == .success { break }
      }
      try recorder.stop()
      print("recorded \(recorder.packetsWritten) packets")
    } catch {
      FileHandle.standardError.write(Data("recorder-swift: \(error)\n".utf8))
      exit(1)
    }
  }
}
