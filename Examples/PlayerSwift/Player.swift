// Plays a sound file through a playback queue.
//
// Usage: player-swift FILE [VOLUME]
//
// To build it on its own, give a package's executable target the product AudioToolbox of the package
// Cuejack, and copy this file into it.

import AudioToolbox
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

/// An open file of linear PCM, where a packet is a frame.
final class SoundFile {
  let format: AudioStreamBasicDescription
  private(set) var packetsRead: Int64 = 0
  private let file: AudioFileID

  init(path: String) throws(Failure) {
    var file: AudioFileID?
    try check(
      AudioFileOpenURL(URL(fileURLWithPath: path) as CFURL, .readPermission, 0, &file),
      "AudioFileOpenURL")
    self.file = file!
    var format = AudioStreamBasicDescription()
    var size = UInt32(MemoryLayout.size(ofValue: format))
    let status = AudioFileGetProperty(self.file, kAudioFilePropertyDataFormat, &size, &format)
    self.format = format
    // From here on the object is initialized, so deinit closes the file.
    try check(status, "AudioFileGetProperty(DataFormat)")
  }

  deinit { AudioFileClose(file) }

  /// Reads up to `packets` packets; returns none at the end of the file.
  func read(packets: Int) throws(Failure) -> [UInt8] {
    var bytes = UInt32(packets) * format.mBytesPerPacket
    var packets = UInt32(packets)
    var data = [UInt8](repeating: 0, count: Int(bytes))
    try check(
      AudioFileReadPacketData(file, false, &bytes, nil, packetsRead, &packets, &data),
      "AudioFileReadPacketData")
    packetsRead += Int64(packets)
    return Array(data.prefix(Int(bytes)))
  }
}

/// Plays a file to its end, a quarter of a second at a time.
///
/// - Returns: Number of pieces.
func play(_ file: SoundFile, volume: Float) async throws -> Int {
  let frames = Int(file.format.mSampleRate / 4)
  let queue = try PlaybackQueue(file.format, bufferFrames: frames)
  queue.volume = volume
  var pieces = 0
  while case let piece = try file.read(packets: frames), !piece.isEmpty {
    // Waits while all buffers of the queue are in use.
    try await queue.write(bytes: piece)
    pieces += 1
    // The first piece is enough to start: the next ones follow without a gap.
    if pieces == 1 { try queue.start() }
  }
  // All packets are read, but buffers may still be playing.
  try await queue.stopAfterPlaying()
  return pieces
}

extension AudioStreamBasicDescription {
  /// One-line description of the format.
  var summary: String {
    let rate = mSampleRate.formatted(.number.grouping(.never))
    let id = Failure.text(OSStatus(bitPattern: mFormatID))
    return "\(id), \(mBitsPerChannel) bits, \(mChannelsPerFrame) channels, \(rate) Hz"
  }
}

@main
enum Main {
  static func main() async {
    let arguments = CommandLine.arguments.dropFirst()
    let volume = arguments.count == 2 ? arguments.last.flatMap { Float($0) } : 1
    guard let path = arguments.first, arguments.count <= 2, let volume else {
      FileHandle.standardError.write(Data("usage: player-swift FILE [VOLUME]\n".utf8))
      exit(2)
    }
    do {
      let file = try SoundFile(path: path)
      print("\(path): \(file.format.summary)")
      let pieces = try await play(file, volume: volume)
      print("played \(file.packetsRead) packets in \(pieces) buffers")
    } catch {
      FileHandle.standardError.write(Data("player-swift: \(error)\n".utf8))
      exit(1)
    }
  }
}
