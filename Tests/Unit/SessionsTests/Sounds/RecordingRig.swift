import AudioQueue
import CRealTime
import Codecs
import Files
import Foundation
import RealTime
import SessionSupport
import TestSupport
import Testing

@testable import Sessions

/// A recorder of 48000 Hz on a hand-driven server, to files in a folder.
final class RecordingRig {
  let server = HandDrivenServer()
  let recorder: FileRecorder
  let parts: RecordingParts
  let messages = Messages()
  let done: Completed
  private let transport = UnsafeMutablePointer<cue_transport>.allocate(capacity: 1)

  /// The complete files, in order.
  final class Completed: @unchecked Sendable {
    private let lock = NSLock()
    private var _parts: [RecordingParts.Part] = []
    var parts: [RecordingParts.Part] { lock.withLock { _parts } }
    func add(_ part: RecordingParts.Part) { lock.withLock { _parts.append(part) } }
  }

  /// Noise of 16 bits, whose samples no two channels share.
  static func noise(_ frame: Int64, _ input: Int) -> Float {
    let mixed = UInt64(bitPattern: frame &* 2 &+ Int64(input)) &* 0x9E37_79B9_7F4A_7C15
    return Float(Int16(truncatingIfNeeded: mixed >> 40)) / 32768
  }

  init(
    _ template: String, in folder: URL, coding: SoundCoding? = nil, bits: Int? = nil,
    split: RecordingSplit? = nil, channels: Int = 2, isReplacing: Bool = false,
    hears: @escaping @Sendable (Int64, Int) -> Float = RecordingRig.noise
  ) throws {
    let (messages, done) = (messages, Completed())
    self.done = done
    let path = folder.appendingPathComponent(template).path
    let names = try RecordingNames(path, isSplit: split != nil)
    let kind = try SoundFormat(
      path: path, coding: coding, bits: bits, pcm: .pcm(.signedInteger, bits: 24), losslessBits: 24)
    let stream = kind.stream(sampleRate: 48000, channels: channels)
    parts = try RecordingParts(
      RecordingParts.Options(
        names, split: split, isReplacing: isReplacing, program: "Rig 1.0",
        onMessage: { messages.add($0) }, onPart: { done.add($0) }),
      RecordingParts.Claim(names, isSplit: split != nil, isReplacing: isReplacing)
    ) { path throws(SoundFileError) in
      try SoundWriter.Plan(path, container: kind.container, format: stream)
    }
    server.hears = { frame, input in hears(Int64(frame), input) }
    recorder = try FileRecorder(
      parts.plan.input, options: .init(clientName: "recorder", connections: .none), server: server,
      onFailure: { messages.add($0) }, onEvent: {})
    try recorder.prepare()
    transport.initialize(to: cue_transport())
    server.clients[0].bareEngine?.pointee.setTransport(transport)
  }

  deinit {
    recorder.close()
    transport.deallocate()
  }

  func start(limit: Int64? = nil, trigger: RecordingTrigger? = nil) throws {
    try recorder.start(parts, at: .frame(0), limit: limit, trigger: trigger)
  }

  func setTransport(isRolling: Bool) { transport.pointee.is_rolling = isRolling }

  /// Runs cycles of 250 frames, slowly enough for the recorder.
  func run(frames: Int64) throws {
    let deadline = Date(timeIntervalSinceNow: 60)
    for _ in 0..<(frames / 250) {
      server.cycle(frames: 250)
      while Int64(server.counter) - recorder.receivedFrames > 96_000, !recorder.isOver {
        try require(Date() < deadline, "the recorder does not go on")
        usleep(100)
      }
    }
  }

  /// Ends the recording, and returns the paths of its files.
  func finish() throws -> [String] {
    recorder.stop()
    try parts.finish()
    return done.parts.map(\.path) + (parts.store.map { [$0.name] } ?? [])
  }
}

/// Returns all samples of a file as floats, interleaved.
func samples(of path: String) throws -> [Float] {
  let file = try MediaFiles.open(path: path)
  let reader = try SoundReader(
    path: path,
    as: PCMFormat(
      sampleRate: file.format.sampleRate, channels: file.format.channels, kind: .float,
      bitsPerSample: 32))
  var sound = [Float](repeating: 0, count: Int(reader.frames) * file.format.channels)
  let step = 4 * file.format.channels
  var done = 0
  try sound.withUnsafeMutableBytes { bytes in
    while done < Int(reader.frames) {
      let count = try reader.read(
        startingAt: Int64(done), frames: Int(reader.frames) - done,
        into: .init(rebasing: bytes[(done * step)...]))
      if count == 0 { break }
      done += count
    }
  }
  expectEqual(done, Int(reader.frames), "\(path)")
  return sound
}
